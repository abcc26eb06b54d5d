import type { NatsConnection } from '@nats-io/transport-node';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestNats, type TestNats } from '../../../../test/support/nats.js';
import { createNatsPool, type NatsPool } from './nats-pool.js';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats();
});

const never = new AbortController().signal;
const settings = (user = 'ann', { port } = nats) => ({ servers: [`127.0.0.1:${port}`], tls: false, user, pass: 'x' });
/** The connection that a step gets; it is free again. */
const connectionOf = (pool: NatsPool, user?: string): Promise<NatsConnection> =>
  pool.use(settings(user), never, async (connection) => connection);

function freshPool(options?: { idleMs: number }): NatsPool {
  const pool = createNatsPool(options);
  onTestFinished(() => pool.close());
  return pool;
}

describe('connections to NATS', () => {
  it('are shared by steps with the same settings, and by no others', async () => {
    const pool = freshPool();
    const [one, two, other] = await Promise.all([connectionOf(pool), connectionOf(pool), connectionOf(pool, 'bob')]);
    expect(two).toBe(one);
    expect(other).not.toBe(one);
    expect(await connectionOf(pool)).toBe(one);
  });

  it('are closed when nobody has used them for a while', async () => {
    const connection = await connectionOf(freshPool({ idleMs: 1 }));
    await connection.closed();
    expect(connection.isClosed()).toBe(true);
  });

  it('do not pile up: the one that was idle longest is closed first', async () => {
    const pool = freshPool();
    const first = await connectionOf(pool, 'user-0');
    const later: NatsConnection[] = [];
    for (let n = 1; n <= 8; n++) later.push(await connectionOf(pool, `user-${n}`));
    await first.closed();
    expect(later.map((connection) => connection.isClosed())).toEqual(later.map(() => false));
  });

  it('are closed with the pool, those in use when they are free', async () => {
    const pool = freshPool();
    const idle = await connectionOf(pool, 'idle');
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let inUse: NatsConnection | undefined;
    const work = new Promise<void>((begun) => {
      void pool.use(settings('busy'), never, async (connection) => {
        inUse = connection;
        begun();
        await finished;
      });
    });
    await work;
    await pool.close();
    expect([idle.isClosed(), inUse?.isClosed()]).toEqual([true, false]);
    finish();
    await inUse?.closed();
  });

  it('fail what is under way when they break, and are not used again', async () => {
    const own = await startTestNats();
    const pool = freshPool();
    const broken = await pool.use(settings('ann', own), never, async (connection) => connection);
    const waiting = pool.use(settings('ann', own), never, () => new Promise<never>(() => undefined));
    const failure = expect(waiting).rejects.toThrow();
    await own.restart();
    await failure;
    expect(await pool.use(settings('ann', own), never, async (connection) => connection)).not.toBe(broken);
    await pool.close();
    await own.stop();
  });
});
