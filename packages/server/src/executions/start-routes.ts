// Starting executions over HTTP, one or many at a time.
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Metrics } from '../observability/index.js';
import type { Starter } from './start.js';

const MAX_BATCH = 1_000;

const ExecuteBody = Type.Object(
  {
    path: Type.Optional(Type.Any({ description: 'Catalog path; the newest version unless `version` says otherwise' })),
    catalog_id: Type.Optional(Type.Any({ description: 'Wins over `path`; string or integer' })),
    version: Type.Optional(Type.Any({ description: 'Number, numeric text or "latest"' })),
    payload: Type.Optional(Type.Any({ description: 'Object; overrides the workload key by key (alias `workload`)' })),
    parent_execution_id: Type.Optional(Type.Any()),
    execution_pool: Type.Optional(Type.Any()),
    trace: Type.Optional(Type.Any()),
    callback_url: Type.Optional(Type.Any({ description: 'Hears of the end, signed (NOETL_CALLBACK_SECRET)' })),
    dedup: Type.Optional(Type.Any({ description: '{key, window_secs = 300}' })),
  },
  { description: 'What to run, and with what' },
);

export function startRoutes(app: App, { starter, metrics }: { starter: Starter; metrics: Metrics }): void {
  app.post(
    '/api/execute',
    { schema: { tags: ['executions'], summary: 'Start an execution', body: ExecuteBody } },
    async (request) => {
      try {
        const key = request.headers['idempotency-key'];
        const started = await starter.start(request.body as JsonObject, typeof key === 'string' ? key : undefined);
        metrics.executeOutcome('single', started.status === 'started' ? 'new' : 'duplicate');
        return started;
      } catch (error) {
        metrics.executeOutcome('single', 'error');
        throw error;
      }
    },
  );

  app.post(
    '/api/execute/batch',
    {
      schema: {
        tags: ['executions'],
        summary: 'Start up to 1,000 executions; each item succeeds or fails on its own',
        body: Type.Object({ executions: Type.Array(Type.Any()) }),
      },
    },
    async (request) => {
      const { executions } = request.body;
      if (executions.length === 0) throw new ApiProblem('invalid', "field 'executions' must not be empty");
      if (executions.length > MAX_BATCH) {
        throw new ApiProblem('invalid', `execute batch size ${executions.length} exceeds the ${MAX_BATCH} cap`);
      }
      metrics.executeBatchSize(executions.length);
      const key = request.headers['idempotency-key'];
      const keyOf = (index: number) => (typeof key === 'string' ? `${key}#${index}` : undefined);
      const results = await Promise.all(executions.map((item, index) => startOne(item as Json, index, keyOf(index))));
      const count = (status: string) => results.filter((result) => result.status === status).length;
      return {
        count: results.length,
        started: count('started'),
        duplicates: count('duplicate'),
        failed: count('error'),
        results,
      };
    },
  );

  async function startOne(item: Json, index: number, key: string | undefined): Promise<JsonObject> {
    try {
      if (!isObject(item)) throw new ApiProblem('invalid', 'every item of `executions` must be an object');
      const started = await starter.start(item, key);
      metrics.executeOutcome('batch', started.status === 'started' ? 'new' : 'duplicate');
      const { execution_id, status, commands_generated } = started;
      return { index, status, execution_id, commands_generated };
    } catch (error) {
      metrics.executeOutcome('batch', 'error');
      if (!(error instanceof ApiProblem)) throw error;
      const prefix =
        error.code === 'not_found' ? 'Resource not found: ' : error.code === 'invalid' ? 'Validation error: ' : '';
      return { index, status: 'error', commands_generated: 0, error: `${prefix}${error.message}` };
    }
  }
}
