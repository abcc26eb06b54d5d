// Of several servers one copies the log. Whoever has lost the lead cannot move the cursor any more, however late it finds out.
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate, openPools, type Pools } from '../../packages/server/src/db/index.js';
import { type Cursor, createCursor, saveCursor, TAILER, takeCursor } from '../../packages/server/src/stream/cursor.js';
import { asLeader } from '../../packages/server/src/stream/leadership.js';
import type { Position } from '../../packages/server/src/stream/outgoing.js';
import { ownDatabase } from '../support/server.js';

let pools: Pools;
beforeAll(async () => {
  const database = await ownDatabase();
  pools = openPools({
    shards: [database.url],
    maxConnections: 4,
    acquireTimeoutMs: 10_000,
    onIdleError: () => undefined,
  });
  await migrate(pools.cluster);
  await createCursor(pools.cluster, true);
});
afterAll(() => pools.close());

const moved = (cursor: Cursor | undefined, position: string): Cursor => {
  if (cursor === undefined) throw new Error('the cursor was refused');
  return { ...cursor, position: position as Position };
};

it('a leader that was replaced cannot save its cursor, nor take it back', async () => {
  const old = await takeCursor(pools.cluster, '7');
  expect(await saveCursor(pools.cluster, '7', moved(old, '1/1/1'))).toBe(true);
  const next = await takeCursor(pools.cluster, '8');
  expect(next?.position).toBe('1/1/1');
  expect(await saveCursor(pools.cluster, '7', moved(old, '1/1/2'))).toBe(false);
  expect(await takeCursor(pools.cluster, '7')).toBeUndefined();
  expect((await takeCursor(pools.cluster, '8'))?.position).toBe('1/1/1');
});

it('where the stream begins is decided once', async () => {
  await createCursor(pools.cluster, false);
  expect((await takeCursor(pools.cluster, '9'))?.floor).toBe('0/0/0');
});

const candidate = (holder: string) => ({
  pool: pools.cluster,
  name: TAILER,
  holder,
  until: new AbortController().signal,
});

it('there is one leader, and the next has a higher token', async () => {
  const tokens: string[] = [];
  await asLeader(candidate('a'), async ({ token }) => {
    tokens.push(token);
    expect(await asLeader(candidate('b'), () => Promise.reject(new Error('two leaders')))).toBe(false);
  });
  await asLeader(candidate('b'), async ({ token }) => void tokens.push(token));
  const [first = '', second = ''] = tokens;
  expect(Number(second)).toBeGreaterThan(Number(first));
});

it('a term is over when another server has the lease', async () => {
  await asLeader(candidate('a'), async ({ over, check }) => {
    await pools.cluster.query(
      `UPDATE noetl.leader_lease SET holder = 'b', fencing_token = fencing_token + 1 WHERE name = $1`,
      [TAILER],
    );
    if (!over.aborted) await once(over, 'abort');
    expect(check).toThrow('another server leads');
  });
});
