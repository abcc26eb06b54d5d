// Which shard an id belongs to, and what the shards hold.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Id, shardFor } from '../../packages/core/src/index.js';
import type { TestDatabase } from '../support/postgres.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ownDatabases, shardSettings } from '../support/shards.js';
import { get } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { leaseOne } from './support/reports.js';

let server: TestServer;

beforeAll(async () => {
  const databases = await ownDatabases(3);
  server = await startTestServer({
    database: databases[0] as TestDatabase,
    env: shardSettings(databases.map((database) => database.url)),
  });
});

describe('GET /api/runtime/shard-info', () => {
  const info = (query: string) => get(server.url, `/api/runtime/shard-info?${query}`);

  it.each([
    ['1', 16, 5],
    ['42', 4, 3],
    ['320816801799737344', 16, 14],
    ['9223372036854775807', 16, 12],
    ['-1', 16, 9],
    ['1', 1, 0],
  ])('%s of %i is on %i', async (id, count, index) => {
    const { status, text, body } = await info(`execution_id=${id}&shard_count=${count}`);
    expect(status).toBe(200);
    expect(text).toContain(`"execution_id":${id},`);
    expect(body).toMatchObject({
      shard_count: count,
      shard_index: index,
      source: 'noetl-server',
      hash_function: 'twox_hash::XxHash64',
      seed: 0,
      server_config: { shard_index: 0, shard_count: 3 },
    });
  });

  it('without a number means the shards of this server', async () => {
    expect((await info('execution_id=42')).body).toMatchObject({
      shard_count: 3,
      shard_index: shardFor('42' as Id, 3),
    });
  });

  it.each([
    ['execution_id=x&shard_count=4', 'execution_id "x" is not a valid i64'],
    ['execution_id=9223372036854775808', 'execution_id "9223372036854775808" is not a valid i64'],
    ['shard_count=4', 'execution_id "" is not a valid i64'],
    ['execution_id=1&shard_count=0', 'shard_count must be >= 1'],
    ['execution_id=1&shard_count=1025', 'shard_count 1025 exceeds practical maximum 1024'],
    ['execution_id=1&shard_count=many', 'shard_count "many" is not a number'],
  ])('%s is refused', async (query, error) => {
    expect(await info(query)).toMatchObject({ status: 400, body: { error, status: 400 } });
  });
});

it('GET /api/ops/shards counts what every shard holds', async () => {
  await server.client.register(chain('shards/one', 1));
  const { results } = await server.client.executeBatch(Array.from({ length: 30 }, () => ({ path: 'shards/one' })));
  const cancelled = String(results[0]?.execution_id);
  await server.client.cancel(cancelled);
  await leaseOne(server.client);
  const onShard = (index: number) =>
    results.filter((result) => shardFor(result.execution_id as Id, 3) === index).length;

  const { shards } = await server.client.shards();

  expect(shards.map(({ shard, reachable, error }) => ({ shard, reachable, error }))).toEqual(
    [0, 1, 2].map((index) => ({ shard: `shard-${index}`, reachable: true, error: null })),
  );
  const total = (counts: Record<string, number> = {}) => Object.values(counts).reduce((sum, count) => sum + count, 0);
  expect(shards.map(({ executions }) => total(executions))).toEqual([0, 1, 2].map(onShard));
  expect(shards.reduce((sum, { executions }) => sum + (executions?.['CANCELLED'] ?? 0), 0)).toBe(1);
  expect(shards.reduce((sum, { commands_open = 0 }) => sum + commands_open, 0)).toBe(29);
  expect(shards.reduce((sum, { commands_ready = 0 }) => sum + commands_ready, 0)).toBe(28);
  for (const { database_bytes, stream_lag_seconds } of shards) {
    expect(database_bytes).toBeGreaterThan(0);
    expect(stream_lag_seconds).toBeNull();
  }
});
