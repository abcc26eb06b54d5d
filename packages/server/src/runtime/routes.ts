// Workers announce themselves, say that they are alive, and leave. A heartbeat renews all leases of its worker in one statement and
// tells which commands it should stop.
import { type Id, isObject, type Json, type JsonObject } from '@noetl/core';
import { Type } from 'typebox';
import { commandStatuses, expireLeasesOfWorker, renewLeases, renewLeasesOfWorker } from '../commands/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Metrics } from '../observability/index.js';
import { beat, listRuntimes, type RuntimeRow, removeRuntime, upsertRuntime } from './store.js';

export interface RuntimeDeps {
  readonly pools: Pools;
  readonly metrics: Metrics;
  readonly leaseMs: number;
  nextId(): Id;
}

const KINDS = ['worker_pool', 'server_api', 'broker'];

export function runtimeRoutes(app: App, { pools, metrics, leaseMs, nextId }: RuntimeDeps): void {
  app.post(
    '/api/worker/pool/register',
    { schema: { tags: ['workers'], summary: 'Announce a worker', body: Type.Any() } },
    (request) =>
      metrics.timeWrite('runtime_register', async () => {
        const body = bodyOf(request.body);
        const row = await upsertRuntime(pools.cluster, {
          runtime_id: nextId(),
          name: nameOf(body),
          kind: kindOf(body),
          uri: textOf(body.uri ?? body.base_url),
          status: textOf(body.status) ?? 'active',
          labels: body.labels ?? null,
          capabilities: body.capabilities ?? null,
          capacity: typeof body.capacity === 'number' ? body.capacity : null,
          runtime: body.runtime ?? null,
        });
        return { ...row, lease_ms: leaseMs };
      }),
  );

  app.post(
    '/api/worker/pool/heartbeat',
    { schema: { tags: ['workers'], summary: 'Say that a worker is alive; renews its leases', body: Type.Any() } },
    (request) =>
      metrics.timeWrite('runtime_heartbeat', async () => {
        const body = bodyOf(request.body);
        const name = nameOf(body);
        const kind = kindOf(body);
        const known = await beat(pools.cluster, {
          kind,
          name,
          status: textOf(body.status),
          inFlight: typeof body.in_flight === 'number' ? body.in_flight : null,
          capacity: typeof body.capacity === 'number' ? body.capacity : null,
        });
        if (!known) throw new ApiProblem('not_found', `Runtime not found: ${kind} ${name}`);
        const answer = { status: 'ok', message: 'Heartbeat recorded' };
        if (!Array.isArray(body.leases)) {
          await Promise.all(pools.shards.map((shard) => renewLeasesOfWorker(shard.pool, name, leaseMs)));
          return { ...answer, cancelled: [], lost: [] };
        }
        return { ...answer, ...(await renew(body.leases)) };
      }),
  );

  /** Leases are kept on every shard: a command id does not need to be routed, only looked up. */
  async function renew(given: readonly Json[]): Promise<{ cancelled: string[]; lost: string[] }> {
    const leases = given.map((lease, index) => {
      const { command_id, claim_token } = isObject(lease) ? lease : ({} as JsonObject);
      if (typeof command_id !== 'string' || typeof claim_token !== 'number') {
        throw new ApiProblem('invalid', `leases[${index}] needs 'command_id' and 'claim_token'`);
      }
      return { command_id, claim_token };
    });
    if (leases.length === 0) return { cancelled: [], lost: [] };
    const renewed = await Promise.all(pools.shards.map((shard) => renewLeases(shard.pool, leases, leaseMs)));
    const missing = leases.map((lease) => lease.command_id).filter((id) => !renewed.some((set) => set.has(id)));
    if (missing.length === 0) return { cancelled: [], lost: [] };
    const statuses = await Promise.all(pools.shards.map((shard) => commandStatuses(shard.pool, missing)));
    const isCancelled = (id: string) => statuses.some((map) => map.get(id)?.status === 'CANCELLED');
    return { cancelled: missing.filter(isCancelled), lost: missing.filter((id) => !isCancelled(id)) };
  }

  // Reference workers send POST, the reference server has DELETE.
  for (const method of ['DELETE', 'POST'] as const) {
    app.route({
      method,
      url: '/api/worker/pool/deregister',
      schema: { tags: ['workers'], summary: 'Take a worker off the list' },
      handler: async (request) => {
        const body = bodyOf(request.body);
        const name = nameOf(body);
        const kind = kindOf(body);
        if (!(await removeRuntime(pools.cluster, kind, name))) {
          throw new ApiProblem('not_found', `Runtime not found: ${kind} ${name}`);
        }
        // A lease it was given but never heard of (an answer lost on the way) must not wait for its end.
        if (kind === 'worker_pool')
          await Promise.all(pools.shards.map((shard) => expireLeasesOfWorker(shard.pool, name)));
        return { status: 'ok', message: `Runtime ${kind} ${name} deregistered` };
      },
    });
  }

  app.get(
    '/api/worker/pools',
    {
      schema: {
        tags: ['workers'],
        summary: 'Registered workers',
        querystring: Type.Object({
          kind: Type.Optional(Type.String()),
          status: Type.Optional(Type.String()),
          name: Type.Optional(Type.String()),
        }),
      },
    },
    async (request) => {
      const { kind = 'worker_pool', status, name } = request.query;
      return listRuntimes(pools.cluster, { kind, status: status ?? null, name: name ?? null });
    },
  );
}

/** Workers that were heard of lately, with the pools they serve. */
export async function liveWorkers(pools: Pools, staleSeconds: number): Promise<{ name: string; pools: string[] }[]> {
  const rows = await listRuntimes(pools.cluster, { kind: 'worker_pool', status: null, name: null });
  const oldest = Date.now() - staleSeconds * 1000;
  return rows
    .filter((row) => row.status !== 'offline' && Date.parse(row.heartbeat) >= oldest)
    .map((row) => ({ name: row.name, pools: poolsOf(row) }));
}

function poolsOf(row: RuntimeRow): string[] {
  const labels = isObject(row.labels) ? row.labels : {};
  if (Array.isArray(labels.pools)) return labels.pools.filter((pool) => typeof pool === 'string');
  return typeof labels.pool_name === 'string' ? [labels.pool_name] : ['shared'];
}

function bodyOf(body: unknown): JsonObject {
  if (!isObject(body)) throw new ApiProblem('invalid', 'The body must be a JSON object');
  return body;
}

function nameOf(body: JsonObject): string {
  if (typeof body.name !== 'string' || body.name === '' || body.name.length > 255) {
    throw new ApiProblem('invalid', "field 'name' must be a string of 1 to 255 characters");
  }
  return body.name;
}

function kindOf(body: JsonObject): string {
  const kind = body.kind ?? body.component_type ?? 'worker_pool';
  if (typeof kind !== 'string' || !KINDS.includes(kind))
    throw new ApiProblem('invalid', `Invalid runtime kind: ${String(kind)}`);
  return kind;
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
