// Wake-ups over JetStream, for workers that should not keep a long poll open while there is nothing to do. A notification only says that
// it is worth asking: commands are leased over HTTP as always, and asking now and then finds what no notification told of.
//
// Replicas share one durable consumer for each pool, so a notification wakes one of them. It is acknowledged after the worker has asked; one
// that dies in between leaves it to another.
import { AckPolicy, type Consumer, type JsMsg, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { pause } from './backoff.js';
import type { WorkerLog } from './log.js';

export interface WakeUps {
  /** Resolves when asking for commands is worthwhile: one was announced, or it is time to look anyway. */
  next(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface NatsWakeUpOptions {
  readonly address: {
    readonly servers: readonly string[];
    readonly user?: string;
    readonly pass?: string;
    readonly token?: string;
  };
  readonly pools: readonly string[];
  readonly log: WorkerLog;
  /** How long to wait for a notification before asking anyway. */
  readonly patienceMs?: number;
}

const STREAM = 'noetl_commands';
/** As long as NATS is away the worker asks this often, which is what it would do without NATS. */
const AWAY_MS = 1_000;
const CONNECT_MS = 2_000;

export function natsWakeUps({ address, pools, log, patienceMs = 20_000 }: NatsWakeUpOptions): WakeUps {
  let connection: NatsConnection | undefined;
  let reported = '';
  const told: JsMsg[] = [];
  /** A pull that is open at NATS; it outlives the call that began it. */
  const pulls = new Map<string, Promise<JsMsg | null>>();
  const consumers = new Map<string, Consumer>();

  const open = async (): Promise<NatsConnection> => {
    if (connection !== undefined && !connection.isClosed()) return connection;
    pulls.clear();
    consumers.clear();
    connection = await connect({
      ...address,
      servers: [...address.servers],
      name: 'noetl-worker',
      reconnect: false,
      timeout: CONNECT_MS,
    });
    return connection;
  };

  const consumerOf = async (pool: string): Promise<Consumer> => {
    const known = consumers.get(pool);
    if (known !== undefined) return known;
    const manager = await jetstreamManager(await open(), { checkAPI: false });
    const token = pool.replace(/[^A-Za-z0-9_-]/g, '_');
    const name = `noetl_worker_pool_${token}`;
    // The same settings again change nothing; the server makes the stream.
    await manager.consumers.add(STREAM, {
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      filter_subject: `noetl.commands.${token}.>`,
    });
    const consumer = await manager.jetstream().consumers.get(STREAM, name);
    consumers.set(pool, consumer);
    return consumer;
  };

  const pull = (pool: string): Promise<JsMsg | null> => {
    const running = pulls.get(pool);
    if (running !== undefined) return running;
    const started = consumerOf(pool)
      .then((consumer) => consumer.next({ expires: patienceMs }))
      .finally(() => pulls.delete(pool));
    started.catch(() => undefined); // seen by whoever waits, if anybody still does
    pulls.set(pool, started);
    return started;
  };

  const acknowledge = () => {
    for (const message of told.splice(0)) message.ack();
  };

  return {
    async next(signal) {
      acknowledge();
      try {
        await open();
        const message = await unlessAborted(Promise.race(pools.map(pull)), signal);
        if (message !== null) told.push(message);
        reported = '';
      } catch (error) {
        if (signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== reported) log.warn({ reason }, 'no wake-ups from NATS; the server is asked every second');
        reported = reason;
        consumers.clear();
        await pause(AWAY_MS, signal);
      }
    },
    async close() {
      if (connection === undefined || connection.isClosed()) return;
      acknowledge();
      await connection.flush().catch(() => undefined);
      await connection.close();
    },
  };
}

/** Rejects when the signal fires first. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let leave = (): void => undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
