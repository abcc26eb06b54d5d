// What a consumer of the event stream sees, and hands that write to the log past the server: transactions that stay open as long as a test
// wants.
import { setTimeout as delay } from 'node:timers/promises';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import pg from 'pg';
import { createSnowflake, type Id, type JsonObject, parseJson } from '../../packages/core/src/index.js';
import { natsAddress } from '../../packages/server/src/stream/settings.js';
import type { TestNats } from '../support/nats.js';

export interface Seen {
  readonly seq: number;
  readonly subject: string;
  readonly messageId: string;
  readonly body: JsonObject;
  readonly eventId: string;
  /** When the stream took it, in milliseconds. */
  readonly at: number;
}

/** Works with a connection of its own, closed before it returns. */
export async function withNats<T>(
  nats: TestNats,
  work: (connection: NatsConnection, manager: JetStreamManager) => Promise<T>,
): Promise<T> {
  const { servers, ...credentials } = natsAddress(nats.url);
  const connection = await connect({ ...credentials, servers: [...servers], reconnect: false });
  try {
    return await work(connection, await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

/** Everything the stream holds, in its order; nothing when there is no stream. */
export function messagesIn(nats: TestNats, stream = 'noetl_events'): Promise<Seen[]> {
  return withNats(nats, async (_connection, manager) => {
    const info = await manager.streams.info(stream).catch(() => undefined);
    const seen: Seen[] = [];
    if (info === undefined || info.state.messages === 0) return seen;
    const consumer = await manager.jetstream().consumers.get(stream);
    const messages = await consumer.consume({ max_messages: 1_000 });
    for await (const message of messages) {
      const body = parseJson(message.string()) as JsonObject;
      seen.push({
        seq: message.seq,
        subject: message.subject,
        messageId: message.headers?.get('Nats-Msg-Id') ?? '',
        body,
        eventId: String(body['event_id']),
        at: Number(message.timestampNanos / 1_000_000n),
      });
      if (message.seq >= info.state.last_seq) break;
    }
    return seen;
  });
}

/** Looks again until the test's condition holds; the limit is the test's own. */
export async function until<T>(look: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look().catch(() => undefined);
    if (value !== undefined && holds(value)) return value;
    await delay(20);
  }
}

export const ids = createSnowflake({ machineId: 900, now: Date.now });

/** A client that writes events of one execution of its own, in transactions that the test begins and ends. */
export async function openWriter(databaseUrl: string) {
  const db = new pg.Client({ connectionString: databaseUrl });
  db.on('error', () => undefined);
  await db.connect();
  const execution: Id = ids.next();
  let version = 0;
  return {
    execution,
    begin: () => db.query('BEGIN'),
    commit: () => db.query('COMMIT'),
    rollback: () => db.query('ROLLBACK'),
    /** Gives the id of the event; it is in the log when its transaction commits. */
    async write(fields: { type?: string; event?: Id; context?: object; execution?: Id } = {}): Promise<Id> {
      const event = fields.event ?? ids.next();
      await db.query(
        `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, context) VALUES ($1, $2, $3, 1, $4, $5)`,
        [
          fields.execution ?? execution,
          event,
          ++version,
          fields.type ?? 'note.made',
          JSON.stringify(fields.context ?? {}),
        ],
      );
      return event;
    },
    close: () => db.end(),
  };
}

export type Writer = Awaited<ReturnType<typeof openWriter>>;
