// Where executions live: which shard an id belongs to, and how much every shard holds.
import { type JsonObject, shardForInt64 } from '@noetl/core';
import { Type } from 'typebox';
import type { Pools, Shard } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { shardFigures } from './store.js';

const MAX_COUNT = 1024;
const INT64_MAX = 2n ** 63n - 1n;

export interface ShardRouteDeps {
  readonly pools: Pools;
  /** Age in seconds of the oldest event that the event stream does not have yet. Undefined: there is no event stream. */
  readonly streamLag: ((shard: Shard) => Promise<number>) | undefined;
}

export function shardRoutes(app: App, { pools, streamLag }: ShardRouteDeps): void {
  app.get(
    '/api/runtime/shard-info',
    {
      schema: {
        tags: ['operations'],
        summary: 'Which shard an execution id belongs to',
        querystring: Type.Object({
          execution_id: Type.Optional(Type.String()),
          shard_count: Type.Optional(Type.String({ description: '1 to 1024; the number of this server when absent' })),
        }),
      },
    },
    (request) => {
      const id = int64Of(request.query.execution_id ?? '');
      const count = countOf(request.query.shard_count ?? String(pools.shards.length));
      return {
        execution_id: id,
        shard_count: count,
        shard_index: shardForInt64(id, count),
        source: 'noetl-server',
        hash_function: 'twox_hash::XxHash64',
        seed: 0,
        // Every server serves every shard, so none has an index of its own.
        server_config: { shard_index: 0, shard_count: pools.shards.length },
      };
    },
  );

  app.get(
    '/api/ops/shards',
    { schema: { tags: ['operations'], summary: 'What every shard holds, and what waits there' } },
    async () => ({ shards: await Promise.all(pools.shards.map((shard) => shardView(shard, streamLag))) }),
  );
}

/** A shard that does not answer is part of the answer: it is what the operator is looking for. */
async function shardView(shard: Shard, streamLag: ShardRouteDeps['streamLag']): Promise<JsonObject> {
  const place = { shard: shard.name, index: shard.index };
  try {
    const [figures, lag] = await Promise.all([shardFigures(shard.pool), streamLag?.(shard) ?? null]);
    return { ...place, reachable: true, ...figures, stream_lag_seconds: lag, error: null };
  } catch (error) {
    return { ...place, reachable: false, error: error instanceof Error ? error.message : String(error) };
  }
}

function int64Of(text: string): bigint {
  const value = /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
  if (value === undefined || value > INT64_MAX || value < -INT64_MAX - 1n) {
    throw new ApiProblem('malformed', `execution_id ${JSON.stringify(text)} is not a valid i64`);
  }
  return value;
}

function countOf(text: string): number {
  if (!/^\d{1,19}$/.test(text))
    throw new ApiProblem('malformed', `shard_count ${JSON.stringify(text)} is not a number`);
  const count = Number(text);
  if (count < 1) throw new ApiProblem('malformed', 'shard_count must be >= 1');
  if (count > MAX_COUNT)
    throw new ApiProblem('malformed', `shard_count ${text} exceeds practical maximum ${MAX_COUNT}`);
  return count;
}
