// Connections to the databases of playbooks, kept open for a while between steps. What must stay true:
//  - a connection serves one step at a time, and comes back without anything the step left in its session (settings, roles, locks,
//    temporary tables), or not at all;
//  - there are at most `max` connections to one target, and at most MAX_IDLE connections wait for work;
//  - a pool exists only as long as it has connections, so playbooks cannot pile up pools.
import pg from 'pg';
import type { Server } from './postgres-cancel.js';
import { connectionKey, type PostgresSettings, tlsOf } from './postgres-connection.js';

export interface Session {
  readonly client: pg.Client;
  readonly server: Server;
  release(ending: SessionEnding): void;
}

/** How a step leaves its session: as it found it, perhaps inside a transaction that failed, or in a state that nobody knows. */
export type SessionEnding = 'done' | 'failed' | 'unknown';

export interface AcquireRequest {
  readonly settings: PostgresSettings;
  readonly max: number;
  readonly signal: AbortSignal;
  /** Readies the session; a kept connection that fails it is replaced. */
  prepare(client: pg.Client): Promise<unknown>;
}

export interface PostgresPools {
  acquire(request: AcquireRequest): Promise<Session>;
  /** Ends what waits for work; what is in use ends when it comes back. */
  close(): Promise<void>;
}

interface Pool {
  readonly key: string;
  /** Connections that are in use, being opened or being cleaned. */
  busy: number;
  readonly idle: IdleClient[];
  readonly waiting: (() => void)[];
  /** The server has no encryption; known after the first try when the step only prefers it. */
  plain: boolean;
}

interface IdleClient {
  readonly client: pg.Client;
  readonly timer: NodeJS.Timeout;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** For the short statements before and after those of a step. A connection that a firewall forgot never answers. */
const ANSWER_TIMEOUT_MS = 5_000;
const MAX_IDLE = 16;

export function createPostgresPools({ idleMs = 60_000 }: { idleMs?: number } = {}): PostgresPools {
  const pools = new Map<string, Pool>();
  let closed = false;

  async function acquire({ settings, max, signal, prepare }: AcquireRequest): Promise<Session> {
    closed = false;
    const key = connectionKey(settings);
    for (;;) {
      signal.throwIfAborted();
      // Looked up each time: a pool that lost its last connection while we waited is no longer the one that others see.
      const pool = poolOf(key);
      if (pool.busy >= max) {
        await turn(pool, signal);
        continue;
      }
      const kept = takeIdle(pool);
      pool.busy += 1;
      // A step may allow fewer connections than the one before it.
      while (pool.busy + pool.idle.length > max) dropOldestOf(pool);
      try {
        const client = kept ?? (await openNew(pool, settings, signal));
        await unlessAborted(client, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]), () =>
          prepare(client),
        );
        return session(pool, client, settings);
      } catch (error) {
        leave(pool);
        // The server may have closed it while it waited; nothing has been asked of it yet.
        if (kept === undefined) throw error;
      }
    }
  }

  function poolOf(key: string): Pool {
    const pool = pools.get(key) ?? { key, busy: 0, idle: [], waiting: [], plain: false };
    pools.set(key, pool);
    return pool;
  }

  async function openNew(pool: Pool, settings: PostgresSettings, signal: AbortSignal): Promise<pg.Client> {
    const client = await open(pool, settings, signal);
    // The server ended it, or the network did.
    client.once('end', () => drop(pool, client));
    return client;
  }

  function takeIdle(pool: Pool): pg.Client | undefined {
    const kept = pool.idle.pop();
    if (kept === undefined) return undefined;
    clearTimeout(kept.timer);
    holdProcess(kept.client, true);
    return kept.client;
  }

  function session(pool: Pool, client: pg.Client, settings: PostgresSettings): Session {
    let released = false;
    return {
      client,
      server: { host: settings.host, port: settings.port, tls: pool.plain ? false : tlsOf(settings) },
      release(ending) {
        if (released) return;
        released = true;
        void giveBack(pool, client, ending);
      },
    };
  }

  async function giveBack(pool: Pool, client: pg.Client, ending: SessionEnding): Promise<void> {
    const clean = ending !== 'unknown' && !closed && (await cleaned(client, ending));
    if (clean && !closed) keep(pool, client);
    else end(client);
    leave(pool);
  }

  function keep(pool: Pool, client: pg.Client): void {
    holdProcess(client, false);
    pool.idle.push({ client, timer: setTimeout(() => drop(pool, client), idleMs).unref() });
    trimIdle();
  }

  /** Nothing happens to a connection that is in use: its query fails by itself. */
  function drop(pool: Pool, client: pg.Client): void {
    const index = pool.idle.findIndex((idle) => idle.client === client);
    const [idle] = index === -1 ? [] : pool.idle.splice(index, 1);
    if (idle === undefined) return;
    clearTimeout(idle.timer);
    end(client);
    forgetIfEmpty(pool);
  }

  /** Pools are in the order of their first use, so the first idle connection is one of the oldest. */
  function trimIdle(): void {
    const idle = [...pools.values()].reduce((sum, pool) => sum + pool.idle.length, 0);
    if (idle <= MAX_IDLE) return;
    for (const pool of pools.values()) if (pool.idle.length > 0) return dropOldestOf(pool);
  }

  function dropOldestOf(pool: Pool): void {
    const [oldest] = pool.idle;
    if (oldest !== undefined) drop(pool, oldest.client);
  }

  function leave(pool: Pool): void {
    pool.busy -= 1;
    // All of them: each has a limit of its own, and some may have given up. They ask again in the order in which they came.
    for (const wake of pool.waiting.splice(0)) wake();
    forgetIfEmpty(pool);
  }

  function forgetIfEmpty(pool: Pool): void {
    if (pool.busy === 0 && pool.idle.length === 0 && pool.waiting.length === 0 && pools.get(pool.key) === pool)
      pools.delete(pool.key);
  }

  return {
    acquire,
    async close() {
      closed = true;
      const idle = [...pools.values()].flatMap((pool) => pool.idle.splice(0));
      for (const { timer } of idle) clearTimeout(timer);
      for (const pool of [...pools.values()]) forgetIfEmpty(pool);
      await Promise.all(idle.map(({ client }) => client.end().catch(() => undefined)));
    },
  };
}

/** Resolves when a connection of the pool became free. */
function turn(pool: Pool, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = (): void => {
      const index = pool.waiting.indexOf(wake);
      if (index !== -1) pool.waiting.splice(index, 1);
      reject(signal.reason);
    };
    pool.waiting.push(wake);
    signal.addEventListener('abort', giveUp, { once: true });
  });
}

async function open(pool: Pool, settings: PostgresSettings, signal: AbortSignal): Promise<pg.Client> {
  const optional = settings.sslmode === 'prefer' || settings.sslmode === 'allow';
  if (optional && !pool.plain) {
    try {
      return await connect(settings, false, signal);
    } catch (error) {
      if (!(error instanceof Error && /does not support SSL/i.test(error.message))) throw error;
      pool.plain = true;
    }
  }
  return connect(settings, pool.plain, signal);
}

async function connect(settings: PostgresSettings, plain: boolean, signal: AbortSignal): Promise<pg.Client> {
  const { host, port, database, user, password } = settings;
  const client = new pg.Client({
    host,
    port,
    database,
    user,
    // A function, because the driver would look for an empty password in the worker's own environment and files.
    password: () => password,
    ssl: plain ? false : tlsOf(settings),
    application_name: 'noetl-worker',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  // A connection that breaks fails the query that runs on it; without a listener it would also end the process.
  client.on('error', () => undefined);
  await unlessAborted(client, signal, () => client.connect());
  return client;
}

/** What fails or is aborted takes the connection with it. */
async function unlessAborted(client: pg.Client, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  const abort = (): void => end(client);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await work();
    signal.throwIfAborted();
  } catch (error) {
    end(client);
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** True when nothing of the step is left in the session. */
async function cleaned(client: pg.Client, ending: SessionEnding): Promise<boolean> {
  const timer = setTimeout(() => end(client), ANSWER_TIMEOUT_MS);
  try {
    if (ending === 'failed') await client.query('ROLLBACK');
    await client.query('DISCARD ALL');
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** A connection without work must not keep a process alive that is done. The driver has both methods; its types do not. */
function holdProcess(client: pg.Client, hold: boolean): void {
  const { ref, unref } = client as pg.Client & { ref?: () => void; unref?: () => void };
  (hold ? ref : unref)?.call(client);
}

function end(client: pg.Client): void {
  void client.end().catch(() => undefined);
}
