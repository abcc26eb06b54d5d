// Operations over HTTP: make one, watch it, stop it.
import { type Id, isObject, type JsonObject, parseId } from '@noetl/core';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { matchingExecutions } from '../executions/index.js';
import type { App } from '../http/index.js';
import { readOperation } from './request.js';
import {
  cancelOperation,
  insertOperation,
  listOperations,
  type OperationRow,
  operationById,
  operationItems,
} from './store.js';

export interface OperationDeps {
  readonly pools: Pools;
  nextId(): Id;
  /** There is work to do. */
  wake(): void;
}

const SHOWN_FAILURES = 20;
const IdParams = Type.Object({ id: Type.String({ description: 'Operation id' }) });

export function operationRoutes(app: App, { pools, nextId, wake }: OperationDeps): void {
  app.post(
    '/api/operations',
    {
      schema: {
        tags: ['operations'],
        summary: 'Cancel or rerun many executions; the server does it in the background',
        body: Type.Object({
          action: Type.Optional(Type.Any({ description: 'cancel or rerun' })),
          filter: Type.Optional(
            Type.Any({
              description:
                '{execution_ids, path (exact, or a prefix with *), catalog_id, parent_execution_id, status, started_after, started_before}',
            }),
          ),
          limit: Type.Optional(Type.Any({ description: 'At most this many executions (10,000)' })),
          dry_run: Type.Optional(Type.Any({ description: 'Only say how many it would be' })),
          reason: Type.Optional(Type.Any({ description: 'For cancel' })),
          mode: Type.Optional(Type.Any({ description: 'For rerun: same, from_failure or from_step' })),
          step: Type.Optional(Type.Any()),
          workload: Type.Optional(Type.Any({ description: 'For rerun: values to change' })),
        }),
      },
    },
    async (request, reply) => {
      const asked = readOperation(isObject(request.body) ? request.body : {});
      const found = await Promise.all(
        pools.shards.map((shard) => matchingExecutions(shard.pool, asked.filter, asked.limit + 1)),
      );
      const ids = found.flat();
      if (ids.length > asked.limit)
        throw new ApiProblem(
          'invalid',
          `more than ${asked.limit} executions match; narrow the filter or raise 'limit'`,
        );
      if (asked.dryRun) return { action: asked.action, dry_run: true, total: ids.length };
      const id = nextId();
      const target = () => (asked.action === 'rerun' ? nextId() : null);
      await insertOperation(pools.cluster, {
        id,
        action: asked.action,
        request: asked.body,
        items: ids.map((execution) => ({ execution, target: target() })),
      });
      wake();
      return reply.status(202).send(shown(await mustFind(id)));
    },
  );

  app.get(
    '/api/operations',
    {
      schema: {
        tags: ['operations'],
        summary: 'Operations, newest first',
        querystring: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })) }),
      },
    },
    async (request) => ({
      operations: (await listOperations(pools.cluster, request.query.limit ?? 50)).map(shown),
    }),
  );

  app.get(
    '/api/operations/:id',
    { schema: { tags: ['operations'], summary: 'Progress of an operation', params: IdParams } },
    async (request) => {
      const row = await mustFind(mustId(request.params.id));
      const failures = await operationItems(pools.cluster, row.operation_id, {
        status: 'FAILED',
        after: '0' as Id,
        limit: SHOWN_FAILURES,
      });
      return {
        ...shown(row),
        failures: failures.map(({ execution_id, error }) => ({ execution_id, error })),
      };
    },
  );

  app.get(
    '/api/operations/:id/items',
    {
      schema: {
        tags: ['operations'],
        summary: 'What became of each execution',
        params: IdParams,
        querystring: Type.Object({
          status: Type.Optional(Type.String()),
          after: Type.Optional(Type.String({ description: 'Last execution id of the page before' })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
        }),
      },
    },
    async (request) => {
      const { operation_id } = await mustFind(mustId(request.params.id));
      const { status, after, limit = 100 } = request.query;
      const items = await operationItems(pools.cluster, operation_id, {
        status: status?.toUpperCase() ?? null,
        after: after === undefined ? ('0' as Id) : mustId(after),
        limit,
      });
      return {
        operation_id,
        items: items.map(({ target_id, ...item }) => ({ ...item, new_execution_id: target_id })),
      };
    },
  );

  app.post(
    '/api/operations/:id/cancel',
    { schema: { tags: ['operations'], summary: 'Stop an operation; what is done stays done', params: IdParams } },
    async (request) => {
      const { operation_id } = await mustFind(mustId(request.params.id));
      await cancelOperation(pools.cluster, operation_id);
      return shown(await mustFind(operation_id));
    },
  );

  async function mustFind(id: Id): Promise<OperationRow> {
    const row = await operationById(pools.cluster, id);
    if (row === undefined) throw new ApiProblem('not_found', `Operation not found: ${id}`);
    return row;
  }
}

function shown({ request, ...row }: OperationRow): JsonObject {
  const finished = row.done + row.skipped + row.failed;
  return { ...row, request, progress: row.total === 0 ? 100 : Math.floor((100 * finished) / row.total) };
}

function mustId(raw: string): Id {
  const id = parseId(raw);
  if (id === undefined) throw new ApiProblem('malformed', `'${raw.slice(0, 40)}' is not an id`);
  return id;
}
