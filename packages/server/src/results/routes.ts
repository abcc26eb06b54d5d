// The result store over HTTP: what is too large for the log is put here and read by its reference. `/api/temp` is its older name.
import { createHash } from 'node:crypto';
import {
  formatRef,
  type Id,
  isObject,
  type Json,
  type JsonObject,
  parseId,
  parseRef,
  stringifyJson,
} from '@noetl/core';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Metrics } from '../observability/index.js';
import {
  deleteScopes,
  insertResult,
  listResults,
  newestOfStep,
  type ResultRow,
  readResult,
  statsByScope,
} from './store.js';
import { readTtl } from './ttl.js';

export interface ResultDeps {
  readonly pools: Pools;
  readonly metrics: Metrics;
  nextId(): Id;
}

const PUT_LIMIT = 64 * 1024 * 1024;
const MAX_LISTED = 1_000;
/** Name and scope are part of an index, whose entries must stay below a third of a page. */
const MAX_NAME = 500;
const MAX_SCOPE = 64;
const PREFIXES = ['/api/result', '/api/temp'];

/** A scope holds the narrower ones: what a step needed is over when its execution is. */
const CLEARED: Readonly<Record<string, readonly string[]>> = {
  execution: ['step', 'execution'],
  workflow: ['step', 'execution', 'workflow'],
};

const ExecutionParams = Type.Object({ execution_id: Type.String() });
const StepParams = Type.Object({ execution_id: Type.String(), step: Type.String() });

export function resultRoutes(app: App, deps: ResultDeps): void {
  for (const prefix of PREFIXES) routesUnder(app, prefix, deps);
}

function routesUnder(app: App, prefix: string, { pools, metrics, nextId }: ResultDeps): void {
  const tags = ['results'];
  const poolOf = (id: Id) => pools.forExecution(id).pool;

  app.put(
    `${prefix}/:execution_id`,
    {
      bodyLimit: PUT_LIMIT,
      schema: {
        tags,
        summary: 'Store a result; answers with its reference',
        params: ExecutionParams,
        body: Type.Any(),
      },
    },
    (request) =>
      metrics.timeResult('put', async () => {
        const executionId = executionOf(request.params.execution_id);
        const body = bodyOf(request.body);
        const scope = textOf(body, 'scope', MAX_SCOPE) ?? 'execution';
        const data = stringifyJson(body.data);
        const row = await insertResult(poolOf(executionId), {
          result_id: nextId(),
          execution_id: executionId,
          name: nameOf(body),
          scope,
          source_step: textOf(body, 'source_step', MAX_NAME) ?? null,
          data,
          bytes: Buffer.byteLength(data),
          sha256: createHash('sha256').update(data).digest('hex'),
          ttlSeconds: scope === 'permanent' ? null : readTtl(body.ttl ?? body.ttl_seconds),
        });
        const { ref, store, bytes, sha256, expires_at } = describe(row);
        return { ref, store, scope, bytes, sha256, expires_at };
      }),
  );

  app.get(
    `${prefix}/resolve`,
    {
      schema: { tags, summary: 'The stored JSON behind a reference', querystring: Type.Object({ ref: Type.String() }) },
    },
    (request, reply) =>
      metrics.timeResult('resolve', async () => {
        const address = parseRef(request.query.ref);
        if (address === undefined) {
          throw new ApiProblem('malformed', 'ref must be noetl://execution/<execution>/result/<name>/<result>');
        }
        const { executionId, resultId } = address;
        return reply.type(JSON_TYPE).send(await textOrNotFound(executionId, resultId));
      }),
  );

  app.get(`${prefix}/stats`, { schema: { tags, summary: 'How much is stored, by scope' } }, async () =>
    totals((await Promise.all(pools.shards.map((shard) => statsByScope(shard.pool)))).flat()),
  );

  app.get(
    `${prefix}/:execution_id/list`,
    {
      schema: {
        tags,
        summary: `Results of an execution, oldest first, at most ${MAX_LISTED}`,
        params: ExecutionParams,
        querystring: Type.Object({
          scope: Type.Optional(Type.String()),
          step_name: Type.Optional(Type.String()),
          source_step: Type.Optional(Type.String()),
        }),
      },
    },
    async (request) => {
      const executionId = executionOf(request.params.execution_id);
      const { scope, step_name, source_step } = request.query;
      const filter = { scope: scope ?? null, step: step_name ?? source_step ?? null };
      const rows = await listResults(poolOf(executionId), executionId, filter, MAX_LISTED);
      return { execution_id: executionId, count: rows.length, refs: rows.map(describe) };
    },
  );

  app.get(
    `${prefix}/:execution_id/:step`,
    {
      schema: {
        tags,
        summary: 'The newest result of a step; with resolve=false only what is known about it',
        params: StepParams,
        querystring: Type.Object({ resolve: Type.Optional(Type.Boolean()) }),
      },
    },
    async (request, reply) => {
      const executionId = executionOf(request.params.execution_id);
      const row = await newestOfStep(poolOf(executionId), executionId, request.params.step);
      if (row === undefined) throw new ApiProblem('not_found', `Result not found for step: ${request.params.step}`);
      if (request.query.resolve === false) return describe(row);
      return reply.type(JSON_TYPE).send(await textOrNotFound(executionId, row.result_id));
    },
  );

  app.delete(
    `${prefix}/:execution_id`,
    {
      schema: {
        tags,
        summary: 'Delete the results of an execution, of scope execution (default) or workflow and the narrower ones',
        params: ExecutionParams,
        querystring: Type.Object({ scope: Type.Optional(Type.String()) }),
      },
    },
    async (request) => {
      const executionId = executionOf(request.params.execution_id);
      const { scope = 'execution' } = request.query;
      const scopes = Object.hasOwn(CLEARED, scope) ? CLEARED[scope] : undefined;
      if (scopes === undefined) throw new ApiProblem('malformed', whyNotCleared(scope, prefix));
      return {
        execution_id: executionId,
        deleted: await deleteScopes(poolOf(executionId), executionId, scopes, null),
        scope,
      };
    },
  );

  app.delete(
    `${prefix}/:execution_id/step/:step`,
    { schema: { tags, summary: 'Delete the results of scope step that a step made', params: StepParams } },
    async (request) => {
      const executionId = executionOf(request.params.execution_id);
      const deleted = await deleteScopes(poolOf(executionId), executionId, ['step'], request.params.step);
      return { execution_id: executionId, deleted, scope: 'step' };
    },
  );

  async function textOrNotFound(executionId: Id, resultId: Id): Promise<string> {
    const stored = await readResult(poolOf(executionId), executionId, resultId);
    if (stored === undefined) throw new ApiProblem('not_found', 'result not found');
    return stored.text;
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';

function describe(row: ResultRow) {
  const { result_id, execution_id, name, scope, source_step, sha256, created_at, expires_at } = row;
  return {
    ref: formatRef({ executionId: execution_id, name, resultId: result_id }),
    store: 'db',
    scope,
    name,
    source_step,
    bytes: Number(row.bytes),
    sha256,
    created_at,
    expires_at,
    // Known to the event that carries the reference, not to the store; clients of the reference system read them.
    preview: null,
    extracted: null,
    correlation: null,
  };
}

function totals(parts: readonly { scope: string; results: string; bytes: string }[]) {
  const scopes: Record<string, { results: number; bytes: number }> = Object.create(null);
  for (const part of parts) {
    const { results = 0, bytes = 0 } = scopes[part.scope] ?? {};
    scopes[part.scope] = { results: results + Number(part.results), bytes: bytes + Number(part.bytes) };
  }
  const all = Object.values(scopes);
  const sum = (key: 'results' | 'bytes') => all.reduce((total, scope) => total + scope[key], 0);
  return { results: sum('results'), bytes: sum('bytes'), scopes: { ...scopes } };
}

function whyNotCleared(scope: string, prefix: string): string {
  if (scope === 'permanent') return "Results of scope 'permanent' are not deleted together";
  if (scope === 'step') return `For one step use DELETE ${prefix}/<execution>/step/<step>`;
  return `Invalid scope: ${scope}. Use execution or workflow`;
}

function executionOf(text: string): Id {
  const id = parseId(text);
  if (id === undefined) throw new ApiProblem('malformed', `Invalid execution id: ${text.slice(0, 40)}`);
  return id;
}

function bodyOf(body: unknown): JsonObject & { data: Json } {
  if (!isObject(body)) throw new ApiProblem('invalid', 'The body must be a JSON object');
  const { data } = body;
  if (data === undefined) throw new ApiProblem('invalid', "field 'data' is required");
  return { ...body, data };
}

function nameOf(body: JsonObject): string {
  const name = textOf(body, 'name', MAX_NAME);
  if (name === undefined) throw new ApiProblem('invalid', "field 'name' is required");
  return name;
}

/** Undefined when absent, null or empty. */
function textOf(body: JsonObject, field: string, max: number): string | undefined {
  const value = body[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || value.length > max) {
    throw new ApiProblem('invalid', `field '${field}' must be a text of 1 to ${max} characters`);
  }
  return value;
}
