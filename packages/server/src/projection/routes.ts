// Projecting over HTTP. Everything below /api/internal needs the internal token (internal/guard.ts). Nothing here drives an execution.
import { type Id, isObject, type Json, type JsonObject, parseId, rawId } from '@noetl/core';
import type { FastifyBaseLogger } from 'fastify';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Log } from '../log/index.js';
import { createIngest, type Ingested } from './ingest.js';
import type { ProjectionMetrics } from './metrics.js';
import { advanceSnapshot, NoEvents } from './snapshot.js';

export interface ProjectionDeps {
  readonly log: Log;
  readonly pools: Pools;
  readonly metrics: ProjectionMetrics;
  nextId(): Id;
}

const BODY_LIMIT = 64 * 1024 * 1024;
const MAX_EVENTS = 10_000;
const MAX_EXECUTIONS = 10_000;

export function projectionRoutes(app: App, deps: ProjectionDeps): void {
  const { log, pools, metrics } = deps;
  const ingest = createIngest(deps);

  app.post(
    '/api/internal/events/project',
    {
      bodyLimit: BODY_LIMIT,
      schema: { tags: ['internal'], summary: 'Store events that are rows already', body: Type.Any() },
    },
    async (request) => {
      const body = isObject(request.body) ? request.body : ({} as JsonObject);
      const events = listOf(body.events, "field 'events'", MAX_EVENTS);
      if (events.length === 0) throw new ApiProblem('malformed', 'events must not be empty');
      const result = await ingest.project(events);
      metrics.projected(result.stored, result.duplicates);
      report(result, request.log);
      return { projected: result.stored, duplicates: result.duplicates, ...rejections(result) };
    },
  );

  app.post(
    '/api/internal/events/materialize',
    {
      bodyLimit: BODY_LIMIT,
      schema: { tags: ['internal'], summary: 'Store events as producers send them', body: Type.Any() },
    },
    async (request) => {
      const events = listOf(request.body as Json | undefined, 'The body', MAX_EVENTS);
      const result = await ingest.materialize(events);
      metrics.materialized(result.stored);
      report(result, request.log);
      return { materialized: result.stored, duplicates: result.duplicates, ...rejections(result) };
    },
  );

  app.post(
    '/api/internal/projection/advance',
    { schema: { tags: ['internal'], summary: 'Compute and store the snapshots of executions', body: Type.Any() } },
    async (request) => {
      const body = isObject(request.body) ? request.body : ({} as JsonObject);
      const given = listOf(body.execution_ids, "field 'execution_ids'", MAX_EXECUTIONS);
      const ids = given.map((value, index) => {
        const id = parseId(value);
        if (id === undefined) throw new ApiProblem('invalid', `execution_ids[${index}] is not an id`);
        return id;
      });
      const advanced: { execution_id: bigint; version: bigint; events: number }[] = [];
      const failed: { execution_id: bigint; error: string }[] = [];
      for (const id of new Set(ids)) {
        try {
          const { version, events } = await advanceSnapshot(log, pools, id);
          metrics.advanced();
          advanced.push({ execution_id: rawId(id), version: rawId(version), events });
        } catch (error) {
          // One execution that cannot be folded must not hold up the others.
          request.log.warn({ err: error, execution_id: id }, 'the snapshot of an execution could not be computed');
          const known = error instanceof NoEvents;
          failed.push({ execution_id: rawId(id), error: known ? error.message : 'the snapshot could not be computed' });
        }
      }
      return { advanced, failed };
    },
  );

  /** Nothing at all could be stored: that is a bad request, not a success with remarks. */
  function report(result: Ingested, logger: FastifyBaseLogger): void {
    const { rejected } = result;
    if (rejected.length === 0) return;
    metrics.rejected(rejected.length);
    logger.warn({ rejected: rejected.slice(0, 10), count: rejected.length }, 'events were rejected');
    if (result.stored + result.duplicates > 0) return;
    const [first] = rejected;
    throw new ApiProblem('invalid', `events[${first?.index}]: ${first?.error}`, rejections(result));
  }
}

function rejections({ rejected }: Ingested): JsonObject {
  return rejected.length === 0 ? {} : { rejected: rejected.map(({ index, error }) => ({ index, error })) };
}

function listOf(value: Json | undefined, what: string, max: number): Json[] {
  if (!Array.isArray(value)) throw new ApiProblem('invalid', `${what} must be a list`);
  if (value.length > max) throw new ApiProblem('invalid', `${what} takes at most ${max} items`);
  return value;
}
