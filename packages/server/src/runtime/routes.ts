// Workers announce themselves, say that they are alive, and leave. A heartbeat renews all leases of its worker in one statement and
// tells which commands it should stop.
import { type Id, isObject, type Json, type JsonObject, parseId } from '@noetl/core';
import { Type } from 'typebox';
import { commandStatuses, expireLeasesOfWorker, renewLeases, renewLeasesOfWorker } from '../commands/index.js';
import { eachShard, isTransient, type Pools, type Shard } from '../db/index.js';
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

interface Lease {
  readonly command_id: string;
  readonly claim_token: number;
}

/** What a worker hears about leases that were not renewed. */
interface Verdicts {
  readonly cancelled: readonly string[];
  readonly lost: readonly string[];
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
          await onReachable(({ pool }) => renewLeasesOfWorker(pool, name, leaseMs));
          return { ...answer, cancelled: [], lost: [] };
        }
        return { ...answer, ...(await renew(body.leases)) };
      }),
  );

  async function renew(given: readonly Json[]): Promise<Verdicts> {
    const leases = given.map((lease, index) => {
      const { command_id, claim_token } = isObject(lease) ? lease : ({} as JsonObject);
      if (typeof command_id !== 'string' || typeof claim_token !== 'number') {
        throw new ApiProblem('invalid', `leases[${index}] needs 'command_id' and 'claim_token'`);
      }
      return { command_id, claim_token };
    });
    const unknown = leases.filter((lease) => shardOf(lease.command_id) === undefined);
    const verdicts = await onReachable(async (shard): Promise<Verdicts> => {
      const here = leases.filter((lease) => shardOf(lease.command_id) === shard);
      return here.length === 0 ? { cancelled: [], lost: [] } : renewOn(shard, here);
    });
    return {
      cancelled: verdicts.flatMap((verdict) => verdict.cancelled),
      lost: [...unknown.map((lease) => lease.command_id), ...verdicts.flatMap((verdict) => verdict.lost)],
    };
  }

  async function renewOn({ pool }: Shard, leases: readonly Lease[]): Promise<Verdicts> {
    const renewed = await renewLeases(pool, leases, leaseMs);
    const missing = leases.map((lease) => lease.command_id).filter((id) => !renewed.has(id));
    if (missing.length === 0) return { cancelled: [], lost: [] };
    const statuses = await commandStatuses(pool, missing);
    const isCancelled = (id: string) => statuses.get(id)?.status === 'CANCELLED';
    return { cancelled: missing.filter(isCancelled), lost: missing.filter((id) => !isCancelled(id)) };
  }

  /** The execution is the first part of a command id. */
  function shardOf(commandId: string): Shard | undefined {
    const id = parseId(commandId.split(':', 1)[0]);
    return id === undefined ? undefined : pools.forExecution(id);
  }

  /** Of a shard that is away nothing is known: its leases are neither renewed nor lost, and nobody can take them meanwhile. */
  async function onReachable<T>(work: (shard: Shard) => Promise<T>): Promise<T[]> {
    const answers = await eachShard(pools, async (shard) => {
      try {
        return [await work(shard)];
      } catch (error) {
        if (isTransient(error)) return [];
        throw error;
      }
    });
    return answers.flat();
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
        if (kind === 'worker_pool') await onReachable(({ pool }) => expireLeasesOfWorker(pool, name));
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
