// The way to NATS. A session is one connection: it begins when NATS answers and ends for good when the connection breaks. NATS may be away
// at the start or at any time; this keeps trying, and nobody else has to care.
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Logger } from 'pino';
import type { NatsAddress } from './settings.js';

export interface NatsSession {
  readonly connection: NatsConnection;
  /** Fires when the connection is gone. */
  readonly ended: AbortSignal;
}

export interface NatsLink {
  /** The running session; undefined while NATS is away. */
  readonly session: NatsSession | undefined;
  /** Why NATS could not be reached, or why the last session ended. */
  readonly lastError: { readonly message: string; readonly at: string } | undefined;
  /** Waits for a session. Rejects when the signal fires. */
  connected(signal: AbortSignal): Promise<NatsSession>;
  /** Is told of every session from now on. */
  onSession(listener: (session: NatsSession) => void): void;
  close(): Promise<void>;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
const CONNECT_MS = 5_000;
/** A connection that has silently died is noticed after two of these at the latest. */
const PING_MS = 5_000;

export function linkNats(address: NatsAddress, log: Logger): NatsLink {
  const closing = new AbortController();
  let session: NatsSession | undefined;
  let lastError: { message: string; at: string } | undefined;
  const waiting = new Set<(session: NatsSession) => void>();
  const listeners: ((session: NatsSession) => void)[] = [];

  const note = (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    // Once for each reason: an outage of a night must not fill the disk.
    if (lastError?.message !== message)
      log.warn({ reason: message, servers: address.servers }, 'NATS is not reachable');
    lastError = { message, at: new Date().toISOString() };
  };

  const open = () =>
    connect({
      ...address,
      servers: [...address.servers],
      name: 'noetl-server',
      // A session that reconnected behind our back would look as if nothing had happened to what was under way.
      reconnect: false,
      timeout: CONNECT_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      noAsyncTraces: true,
    });

  const run = async () => {
    for (let failures = 0; !closing.signal.aborted; failures++) {
      try {
        const connection = await open();
        if (closing.signal.aborted) return void (await connection.close());
        failures = 0;
        lastError = undefined;
        log.info({ server: connection.getServer() }, 'connected to NATS');
        await live(connection);
      } catch (error) {
        note(error);
      }
      // Also after a session: a NATS that lets us in and throws us out must not keep us busy.
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
      await delay(wait, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };

  const live = async (connection: NatsConnection) => {
    const end = new AbortController();
    const current = { connection, ended: end.signal };
    session = current;
    for (const tell of [...listeners, ...waiting]) tell(current);
    waiting.clear();
    const error = await connection.closed();
    session = undefined;
    end.abort(error ?? new Error('the connection to NATS was closed'));
    if (!closing.signal.aborted) note(error ?? new Error('NATS closed the connection'));
  };

  const running = run();
  return {
    get session() {
      return session;
    },
    get lastError() {
      return lastError;
    },
    connected(signal) {
      if (session !== undefined) return Promise.resolve(session);
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(wake);
          reject(signal.reason);
        };
        const wake = (found: NatsSession) => {
          signal.removeEventListener('abort', leave);
          resolve(found);
        };
        if (signal.aborted) return leave();
        signal.addEventListener('abort', leave, { once: true });
        waiting.add(wake);
      });
    },
    onSession: (listener) => void listeners.push(listener),
    async close() {
      closing.abort();
      await session?.connection.close();
      await running;
    },
  };
}
