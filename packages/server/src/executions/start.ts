// Starting executions. A request is validated before anything is written; the start event, the first commands and the read model are
// one transaction. A key that was used before answers with the execution it started.
import { createHash } from 'node:crypto';
import type { ExecuteResponse } from '@noetl/client';
import {
  canonicalJson,
  type ExecutionState,
  type Fact,
  type Id,
  isObject,
  type Json,
  type JsonObject,
  MAX_DEPTH,
  parseId,
  playbookPool,
  TemplateError,
} from '@noetl/core';
import { type Catalog, catalogIdOf, versionOf } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { Log } from '../log/index.js';
import { type CallbackSettings, readCallbackUrl } from '../outbox/index.js';
import { claimDedupKey, claimIdempotencyKey } from './store.js';

export interface Starter {
  start(request: JsonObject, idempotencyKey?: string): Promise<ExecuteResponse>;
}

const MAX_KEY = 255;
const DEFAULT_WINDOW_SECONDS = 300;

export interface StarterOptions {
  readonly log: Log;
  readonly pools: Pools;
  readonly catalog: Catalog;
  readonly callbacks: CallbackSettings;
  nextId(): Id;
}

export function createStarter(options: StarterOptions): Starter {
  const { log, pools, catalog } = options;

  /** The execution that this request means: a fresh one, or the one an earlier request with the same key started. */
  async function resolveId(request: Request, idempotencyKey: string | undefined): Promise<Id> {
    const fresh = options.nextId();
    if (idempotencyKey !== undefined) {
      const claim = { scope: 'execute', key: idempotencyKey, executionId: fresh, requestHash: request.hash };
      const holder = await claimIdempotencyKey(pools.cluster, claim);
      if (holder.requestHash !== request.hash) {
        throw new ApiProblem(
          'idempotency_conflict',
          'This Idempotency-Key was used with another request; take a new key',
        );
      }
      return holder.executionId;
    }
    if (request.dedup === undefined) return fresh;
    return claimDedupKey(pools.cluster, {
      scope: request.parentId ?? ('0' as Id),
      executionId: fresh,
      ...request.dedup,
    });
  }

  return {
    async start(body, idempotencyKey) {
      if (idempotencyKey !== undefined && (idempotencyKey === '' || idempotencyKey.length > MAX_KEY)) {
        throw new ApiProblem('invalid', `Idempotency-Key must have 1 to ${MAX_KEY} characters`);
      }
      const request = readRequest(body);
      const entry = await catalog.find(request);
      if (entry.kind !== 'playbook' && entry.kind !== 'agent') {
        throw new ApiProblem(
          'invalid',
          `'${entry.path}' is a ${entry.kind}; only playbooks and agents can be executed`,
        );
      }
      if (request.resourceKind !== undefined && request.resourceKind !== entry.kind) {
        throw new ApiProblem('invalid', `'${entry.path}' is a ${entry.kind}, not a ${request.resourceKind}`);
      }
      await catalog.compiled(entry.catalog_id);
      const id = await resolveId(request, idempotencyKey);
      const callbackUrl = readCallbackUrl(request.callbackUrl, options.callbacks);
      const parent = await parentState(request.parentId);
      const depth = parent === undefined ? 0 : parent.depth + 1;
      if (depth > MAX_DEPTH)
        throw new ApiProblem('invalid', `executions may start executions at most ${MAX_DEPTH} levels deep`);
      const [outcome] = await begin(id, {
        type: 'start',
        path: entry.path,
        catalogId: entry.catalog_id,
        payload: request.payload,
        pool: request.pool ?? playbookPool(entry.path),
        parentExecutionId: request.parentId ?? null,
        parentEventId: null,
        trace: request.trace ?? parent?.trace ?? null,
        depth,
        ...(callbackUrl === undefined ? {} : { callbackUrl }),
      });
      const rows = outcome?.rows ?? [];
      return {
        execution_id: id,
        status: outcome?.refused === 'already_started' ? 'duplicate' : 'started',
        commands_generated: rows.filter((row) => row.event_type === 'command.issued').length,
        path: entry.path,
        catalog_id: entry.catalog_id,
        version: entry.version,
      };
    },
  };

  /** Nothing is written when a default of the workload cannot be rendered: the author hears it, and no orphan stays behind. */
  async function begin(id: Id, fact: Fact) {
    try {
      return await log.append(id, [fact]);
    } catch (error) {
      if (error instanceof TemplateError) throw new ApiProblem('invalid', `workload: ${error.message}`);
      throw error;
    }
  }

  async function parentState(parent: Id | undefined): Promise<Readonly<ExecutionState> | undefined> {
    return parent === undefined ? undefined : log.state(parent);
  }
}

interface Request {
  readonly catalogId: Id | undefined;
  readonly path: string | undefined;
  readonly version: number | null;
  readonly resourceKind: string | undefined;
  readonly payload: JsonObject;
  readonly parentId: Id | undefined;
  readonly pool: string | undefined;
  readonly trace: Json | undefined;
  readonly callbackUrl: Json | undefined;
  readonly dedup: { key: string; windowSeconds: number } | undefined;
  readonly hash: string;
}

function readRequest(body: JsonObject): Request {
  const path = text(body, 'path');
  const payload = body.payload ?? body.workload ?? body.args ?? {};
  if (!isObject(payload)) throw new ApiProblem('invalid', "field 'payload' must be an object");
  const parent = body.parent_execution_id ?? null;
  const parentId = parent === null ? undefined : parseId(parent);
  if (parent !== null && parentId === undefined) throw new ApiProblem('invalid', 'Invalid parent_execution_id');
  const pool = text(body, 'execution_pool');
  if (pool !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(pool)) {
    throw new ApiProblem('invalid', "field 'execution_pool' takes letters, digits, '_' and '-', at most 64");
  }
  return {
    catalogId: catalogIdOf(body.catalog_id),
    path,
    version: versionOf(body.version),
    resourceKind: text(body, 'resource_kind')?.toLowerCase(),
    payload,
    parentId,
    pool,
    trace: body.trace ?? undefined,
    callbackUrl: body.callback_url,
    dedup: dedupOf(body.dedup ?? null),
    hash: createHash('sha256').update(canonicalJson(body)).digest('hex'),
  };
}

function dedupOf(value: Json): Request['dedup'] {
  if (value === null) return undefined;
  const key = isObject(value) ? value.key : undefined;
  if (!isObject(value) || typeof key !== 'string' || key === '') {
    throw new ApiProblem('invalid', 'field \'dedup\' must be {"key": text, "window_secs"?: number}');
  }
  const windowSeconds = value.window_secs ?? DEFAULT_WINDOW_SECONDS;
  if (typeof windowSeconds !== 'number' || windowSeconds <= 0) {
    throw new ApiProblem('invalid', "field 'dedup.window_secs' must be a positive number of seconds");
  }
  return { key, windowSeconds };
}

function text(body: JsonObject, field: string): string | undefined {
  const value = body[field] ?? null;
  if (value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new ApiProblem('invalid', `field '${field}' must be a string`);
  return value;
}
