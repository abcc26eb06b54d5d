// Cleaning up over HTTP, for a playbook or an operator. It needs the internal token (internal/guard.ts). The server does the same by itself
// (NOETL_CLEANUP_INTERVAL_SECONDS).
import type { Json, JsonObject } from '@noetl/core';
import { Type } from 'typebox';
import type { App } from '../http/index.js';
import { readPolicy } from './policy.js';
import { type CleanupDeps, type Purged, purge } from './purge.js';
import { PURGED_TABLES } from './rules.js';

export function cleanupRoutes(app: App, deps: CleanupDeps): void {
  app.post(
    '/api/internal/cleanup/purge',
    { schema: { tags: ['internal'], summary: 'Remove what is older than the policy keeps', body: Type.Any() } },
    async (request) => {
      const policy = readPolicy(request.body as Json | undefined);
      return { ...answerOf(await purge(deps, policy)), ...(policy.dry_run ? { dry_run: true } : {}) };
    },
  );
}

/** Three counts are always there; lists and further counts only when there is something to say. */
function answerOf({ rows, partitions }: Purged): JsonObject {
  const more = PURGED_TABLES.filter((table) => !['command', 'runtime', 'event_partition'].includes(table));
  return {
    commands_purged: rows.get('command') ?? 0,
    runtime_purged: rows.get('runtime') ?? 0,
    events_purged: partitions.dropped.length,
    ...(partitions.dropped.length === 0 ? {} : { event_partitions_dropped: partitions.dropped }),
    ...(partitions.kept.length === 0 ? {} : { event_partitions_kept: partitions.kept }),
    ...Object.fromEntries(
      more.flatMap((table) => (rows.get(table) ? [[`${table}_purged`, rows.get(table) ?? 0]] : [])),
    ),
  };
}
