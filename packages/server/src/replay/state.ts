// The answer to `GET /api/replay/state`: the body is what the fold gives and nothing else; all we have to say beside it is in headers.
import { type ReplayFold, replayBody, resumeReplay, startReplay, takeReplayState } from '@noetl/core';
import type { Pools } from '../db/index.js';
import { foldOn } from './fold.js';
import type { ReplayMetrics } from './metrics.js';
import { resolvePayloads } from './payloads.js';
import type { StateRequest } from './request.js';
import type { Snapshots } from './snapshots.js';

export interface StateDeps {
  readonly pools: Pools;
  readonly snapshots: Snapshots;
  readonly metrics: ReplayMetrics;
}

export interface StateAnswer {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export async function answerState(deps: StateDeps, request: StateRequest): Promise<StateAnswer> {
  const { executionId, cutoff, limit } = request;
  const { pool } = deps.pools.forExecution(executionId);
  const base = await deps.snapshots.find(executionId, cutoff, limit);
  const start: ReplayFold = base === undefined ? startReplay() : resumeReplay(base);
  const began = start.event_count;
  const folded = await foldOn(pool, start, { executionId, cutoff, limit });
  deps.metrics.folded(folded.fold.event_count - began);
  const state = takeReplayState(folded.fold, {
    tenant_id: request.tenantId,
    organization_id: request.organizationId,
    execution_id: executionId,
    projection: request.projection,
  });
  const body = replayBody(state);
  // A fold by time may leave out events in the middle; it is never the beginning of another fold.
  if (cutoff.type !== 'time') deps.snapshots.offer(executionId, began, folded, body.length);
  return {
    // What references point to is added behind the checksums, which do not cover it.
    body: request.resolvePayloads
      ? `${body.slice(0, -1)},${(await resolvePayloads(deps.pools, state)).slice(1)}`
      : body,
    headers: {
      etag: `"${state.checksum.value}"`,
      ...(base === undefined ? {} : { 'x-noetl-replay-seed': base.last_event_id ?? '0' }),
      ...(folded.next === undefined
        ? {}
        : { 'x-noetl-replay-truncated': 'true', 'x-noetl-replay-next-event-id': folded.next }),
    },
  };
}
