import { compareIds, type Id, isObject, type Json, parseId, redact } from '@noetl/core';
import { Type } from 'typebox';
import type { Catalog } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { eventPage, eventVersion, type Log } from '../log/index.js';
import { cancelTree } from './cancel.js';
import { explain, type LiveWorker } from './explain.js';
import { type ExecutionRow, executionById, listExecutions, versionsOf } from './store.js';
import { streamEvents } from './stream.js';
import { resultOf, statusOf, summaryOf, wireEvent } from './views.js';

export interface ExecutionDeps {
  readonly log: Log;
  readonly pools: Pools;
  readonly catalog: Catalog;
  liveWorkers(): Promise<LiveWorker[]>;
  /** Aborted when the server stops: streams end, and clients come back to another server or to the next start. */
  readonly closing: AbortSignal;
}

const DETAIL_EVENTS = 2_000;
const MAX_OFFSET = 5_000;
const IdParams = Type.Object({ id: Type.String({ description: 'Execution id' }) });

export function executionRoutes(app: App, deps: ExecutionDeps): void {
  const { log, pools } = deps;

  app.get(
    '/api/executions',
    {
      schema: {
        tags: ['executions'],
        summary: 'List executions, newest first (limit/offset or page/page_size)',
        querystring: Type.Object({
          catalog_id: Type.Optional(Type.String()),
          path: Type.Optional(Type.String()),
          status: Type.Optional(Type.String()),
          parent_execution_id: Type.Optional(Type.String()),
          limit: Type.Optional(Type.Integer({ minimum: 1 })),
          offset: Type.Optional(Type.Integer({ minimum: 0 })),
          page: Type.Optional(Type.Integer({ minimum: 1 })),
          page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
        }),
      },
    },
    async (request) => {
      const query = request.query;
      const size = query.page_size ?? Math.min(query.limit ?? (query.page === undefined ? 50 : 100), 200);
      const offset = query.offset ?? ((query.page ?? 1) - 1) * size;
      if (offset > MAX_OFFSET)
        throw new ApiProblem('invalid', `offset ${offset} is above ${MAX_OFFSET}; narrow the filter instead`);
      const filter = {
        catalogId: optionalId(query.catalog_id, 'catalog_id'),
        path: query.path ?? null,
        status: query.status?.toUpperCase() ?? null,
        parentId: optionalId(query.parent_execution_id, 'parent_execution_id'),
      };
      const found = await Promise.all(pools.shards.map((shard) => listExecutions(shard.pool, filter, size + offset)));
      const rows = found
        .flat()
        .sort(
          (a, b) => Date.parse(b.start_time) - Date.parse(a.start_time) || compareIds(b.execution_id, a.execution_id),
        )
        .slice(offset, offset + size);
      const versions = await versionsOf(
        pools.cluster,
        rows.map((row) => row.catalog_id),
      );
      return rows.map((row) => summaryOf(row, versions.get(row.catalog_id) ?? null));
    },
  );

  const EventQuery = Type.Object({
    page: Type.Optional(Type.Integer({ minimum: 1 })),
    page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
    since_event_id: Type.Optional(Type.String()),
    event_type: Type.Optional(Type.String()),
    order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
    include_events: Type.Optional(Type.Boolean()),
  });

  app.get(
    '/api/executions/:id',
    {
      schema: {
        tags: ['executions'],
        summary: 'One execution with its events',
        params: IdParams,
        querystring: EventQuery,
      },
    },
    async (request) => {
      const row = await mustFind(request.params.id);
      const { page, page_size, since_event_id, event_type, include_events = true } = request.query;
      const paged =
        page !== undefined || page_size !== undefined || since_event_id !== undefined || event_type !== undefined;
      const size = page_size ?? (paged ? 100 : DETAIL_EVENTS);
      const { events, pagination } = await readPage(row, {
        page: page ?? 1,
        size,
        since: since_event_id,
        type: event_type,
        newestFirst: true,
      });
      const [versions, state] = await Promise.all([
        versionsOf(pools.cluster, [row.catalog_id]),
        log.state(row.execution_id),
      ]);
      return {
        ...summaryOf(row, versions.get(row.catalog_id) ?? null),
        workload: redact(state?.workload ?? null),
        events: include_events ? (paged ? events : events.reverse()) : [],
        events_included: include_events,
        events_endpoint: `/api/executions/${row.execution_id}/events`,
        pagination,
      };
    },
  );

  app.get(
    '/api/executions/:id/events',
    {
      schema: {
        tags: ['executions'],
        summary: 'Events of an execution, paged',
        params: IdParams,
        querystring: EventQuery,
      },
    },
    async (request) => {
      const row = await mustFind(request.params.id);
      const { page = 1, page_size = 100, since_event_id, event_type, order = 'desc' } = request.query;
      const newestFirst = order === 'desc';
      const paged = await readPage(row, {
        page,
        size: page_size,
        since: since_event_id,
        type: event_type,
        newestFirst,
      });
      return { execution_id: row.execution_id, path: row.path, status: row.status, ...paged };
    },
  );

  app.get(
    '/api/executions/:id/status',
    { schema: { tags: ['executions'], summary: 'Status and progress', params: IdParams } },
    async (request) => {
      const row = await mustFind(request.params.id);
      const state = await log.state(row.execution_id);
      if (state === undefined) throw notFound(row.execution_id);
      return statusOf(row, state);
    },
  );

  app.get(
    '/api/executions/:id/result',
    { schema: { tags: ['executions'], summary: 'Data of the last step and of every step', params: IdParams } },
    async (request) => resultOf(await mustState(request.params.id)),
  );

  app.get(
    '/api/worker/executions/:id/result',
    { schema: { tags: ['workers'], summary: 'Data of a child, for the worker that hands it on', params: IdParams } },
    async (request) => resultOf(await mustState(request.params.id), (data) => data),
  );

  app.get(
    '/api/executions/:id/explain',
    { schema: { tags: ['executions'], summary: 'Why the execution is not moving', params: IdParams } },
    async (request) => {
      const state = await mustState(request.params.id);
      const [compiled, workers] = await Promise.all([deps.catalog.compiled(state.catalogId), deps.liveWorkers()]);
      return redact(explain(compiled, state, workers) as unknown as Json);
    },
  );

  app.get(
    '/api/executions/:id/cancellation-check',
    { schema: { tags: ['executions'], summary: 'Is it cancelled?', params: IdParams } },
    async (request) => {
      const id = mustId(request.params.id);
      const row = await executionById(pools.forExecution(id).pool, id);
      const status = row?.status ?? 'UNKNOWN';
      const cancelled = status === 'CANCELLED';
      return {
        execution_id: id,
        status,
        is_cancelled: cancelled,
        cancelled,
        completed: status === 'COMPLETED',
        failed: status === 'FAILED',
      };
    },
  );

  const cancel = async (rawId: string, body: unknown) => {
    const row = await mustFind(rawId);
    const options = isObject(body) ? body : {};
    const reason =
      typeof options.reason === 'string' && options.reason !== '' ? options.reason : 'User requested cancellation';
    const cancelled = await cancelTree(log, pools, row.execution_id, reason, options.cascade !== false);
    const done = cancelled.includes(row.execution_id);
    return {
      execution_id: row.execution_id,
      status: done ? 'cancelled' : 'already_completed',
      cancelled_executions: cancelled,
      message: done ? 'Execution cancellation requested' : `Execution had already ended ${row.status}`,
    };
  };
  for (const verb of ['cancel', 'stop']) {
    app.post(
      `/api/executions/:id/${verb}`,
      { schema: { tags: ['executions'], summary: 'Cancel an execution and its children', params: IdParams } },
      (request) => cancel((request.params as { id: string }).id, request.body),
    );
  }

  app.post(
    '/api/executions/:id/finalize',
    { schema: { tags: ['executions'], summary: 'End an execution by hand', params: IdParams } },
    async (request) => {
      const row = await mustFind(request.params.id);
      const body = isObject(request.body) ? request.body : {};
      const reason = typeof body.reason === 'string' ? body.reason : undefined;
      const status = body.status ?? (reason === undefined ? undefined : 'FAILED');
      if (status !== 'COMPLETED' && status !== 'FAILED') {
        throw new ApiProblem('invalid', `Invalid finalization status: ${String(status ?? '(none)')}`);
      }
      const error = typeof body.error === 'string' ? body.error : (reason ?? null);
      const [outcome] = await log.append(row.execution_id, [{ type: 'finalize', status, error }]);
      const done = outcome?.refused === undefined;
      return {
        execution_id: row.execution_id,
        status: done ? status : 'already_completed',
        message: done ? `Execution finalized with status: ${status}` : `Execution had already ended ${row.status}`,
      };
    },
  );

  app.get(
    '/api/executions/:id/stream',
    {
      schema: {
        tags: ['executions'],
        summary: 'Events as they happen (SSE); resumes after Last-Event-ID',
        params: IdParams,
        querystring: Type.Object({ last_event_id: Type.Optional(Type.String()) }),
      },
    },
    async (request, reply) => {
      const row = await mustFind(request.params.id);
      const last = request.headers['last-event-id'] ?? request.query.last_event_id;
      const after = typeof last === 'string' && last !== '' ? await versionAfter(row, last) : 0;
      reply.hijack();
      reply.raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      });
      await streamEvents(reply.raw, {
        id: row.execution_id,
        after,
        log,
        pools,
        closing: deps.closing,
        onError: (error) => request.log.warn({ err: error, execution_id: row.execution_id }, 'event stream broke off'),
      });
    },
  );

  async function versionAfter(row: ExecutionRow, lastEventId: string): Promise<number> {
    const event = parseId(lastEventId);
    const version = event && (await eventVersion(pools.forExecution(row.execution_id).pool, row.execution_id, event));
    if (version === undefined)
      throw new ApiProblem(
        'malformed',
        `Last-Event-ID '${lastEventId.slice(0, 40)}' is not an event of this execution`,
      );
    return version;
  }

  async function readPage(
    row: ExecutionRow,
    query: { page: number; size: number; since: string | undefined; type: string | undefined; newestFirst: boolean },
  ) {
    const { events, total } = await eventPage(pools.forExecution(row.execution_id).pool, row.execution_id, {
      sinceEventId: optionalId(query.since, 'since_event_id'),
      eventType: query.type ?? null,
      newestFirst: query.newestFirst,
      limit: query.size,
      offset: (query.page - 1) * query.size,
    });
    const pages = Math.max(1, Math.ceil(total / query.size));
    return {
      events: events.map(wireEvent),
      pagination: {
        page: query.page,
        page_size: query.size,
        total_events: total,
        total_pages: pages,
        has_next: query.page < pages,
        has_prev: query.page > 1,
      },
    };
  }

  async function mustFind(rawId: string): Promise<ExecutionRow> {
    const id = mustId(rawId);
    const row = await executionById(pools.forExecution(id).pool, id);
    if (row === undefined) throw notFound(id);
    return row;
  }

  async function mustState(rawId: string) {
    const id = mustId(rawId);
    const state = await log.state(id);
    // Not every log is of an execution: that of a subscription never starts.
    if (state === undefined || state.startedAt === null) throw notFound(id);
    return state;
  }
}

function mustId(raw: string): Id {
  const id = parseId(raw);
  if (id === undefined)
    throw new ApiProblem('malformed', `'${raw.slice(0, 40)}' is not an execution id: ids are 1 to 19 digits`);
  return id;
}

function optionalId(raw: string | undefined, field: string): Id | null {
  if (raw === undefined || raw === '') return null;
  const id = parseId(raw);
  if (id === undefined) throw new ApiProblem('malformed', `query '${field}': '${raw.slice(0, 40)}' is not an id`);
  return id;
}

function notFound(id: Id): ApiProblem {
  return new ApiProblem('not_found', `Execution not found: ${id}`);
}
