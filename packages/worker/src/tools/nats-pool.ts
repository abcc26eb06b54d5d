// Connections to NATS, kept open for a while between steps. What must stay true:
//  - steps with the same settings share one connection: NATS keeps their requests apart;
//  - a connection that broke is never handed out again, and it does not come back by itself: what was under way on it has failed;
//  - beside those in use at most MAX_IDLE connections are open, so playbooks cannot pile them up.
import { setMaxListeners } from 'node:events';
import { ClosedConnectionError, connect, type NatsConnection } from '@nats-io/transport-node';
import { type NatsSettings, natsKey } from './nats-connection.js';

export interface NatsPool {
  /** Rejects when the signal fires, whatever the work does then. */
  use<T>(settings: NatsSettings, signal: AbortSignal, work: (connection: NatsConnection) => Promise<T>): Promise<T>;
  /** Ends what waits for work; what is in use ends when nobody uses it any more. */
  close(): Promise<void>;
}

interface Link {
  readonly key: string;
  readonly opened: Promise<NatsConnection>;
  /** Fires when the connection is gone: it leaves some requests without an answer. */
  readonly gone: AbortController;
  users: number;
  /** Runs while nobody uses it. */
  timer: NodeJS.Timeout | undefined;
}

const CONNECT_MS = 5_000;
/** A connection that a firewall forgot is noticed after two of these. */
const PING_MS = 10_000;
const MAX_IDLE = 8;

export function createNatsPool({ idleMs = 60_000 }: { idleMs?: number } = {}): NatsPool {
  /** In the order in which they became idle, as far as they are. */
  const links = new Map<string, Link>();
  let closed = false;

  function linkTo(settings: NatsSettings): Link {
    const key = natsKey(settings);
    const known = links.get(key);
    if (known !== undefined) return known;
    const link: Link = { key, opened: open(settings), gone: new AbortController(), users: 0, timer: undefined };
    setMaxListeners(0, link.gone.signal); // every step that uses it listens
    links.set(key, link);
    void link.opened
      .then((connection) => connection.closed())
      .then((error) => link.gone.abort(error ?? new ClosedConnectionError()))
      .catch(() => undefined)
      .finally(() => forget(link));
    return link;
  }

  function forget(link: Link): void {
    clearTimeout(link.timer);
    if (links.get(link.key) === link) links.delete(link.key);
  }

  async function end(link: Link): Promise<void> {
    forget(link);
    await link.opened.then((connection) => connection.close()).catch(() => undefined);
  }

  function leave(link: Link): void {
    link.users -= 1;
    if (link.users > 0) return;
    if (closed) return void end(link);
    // It broke, and others may have a new one already.
    if (links.get(link.key) !== link) return;
    links.delete(link.key);
    links.set(link.key, link);
    link.timer = setTimeout(() => void end(link), idleMs).unref();
    const idle = [...links.values()].filter(({ users }) => users === 0);
    for (const old of idle.slice(0, Math.max(0, idle.length - MAX_IDLE))) void end(old);
  }

  return {
    async use(settings, signal, work) {
      closed = false;
      const link = linkTo(settings);
      link.users += 1;
      clearTimeout(link.timer);
      try {
        const connection = await unlessAborted(link.opened, signal);
        return await unlessAborted(unlessAborted(work(connection), link.gone.signal), signal);
      } finally {
        leave(link);
      }
    },
    async close() {
      closed = true;
      await Promise.all([...links.values()].filter(({ users }) => users === 0).map(end));
    },
  };
}

function open({ servers, tls, user, pass, token }: NatsSettings): Promise<NatsConnection> {
  return connect({
    servers: [...servers],
    name: 'noetl-worker',
    reconnect: false,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    noAsyncTraces: true,
    ...(tls ? { tls: {} } : {}),
    ...(user === undefined ? {} : { user }),
    ...(pass === undefined ? {} : { pass }),
    ...(token === undefined ? {} : { token }),
  });
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let leave = (): void => undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  });
  // Whichever of the two comes second has nobody left to tell.
  work.catch(() => undefined);
  left.catch(() => undefined);
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
