// A transaction takes its ids when it writes and shows its rows when it commits. Whoever follows the log by event id passes over what
// commits late; the order of transactions does not.
import pg from 'pg';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Id } from '../../packages/core/src/index.js';
import { ORIGIN, type Position, readOutgoing } from '../../packages/server/src/stream/outgoing.js';
import { startTestNats } from '../support/nats.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { messagesIn, openWriter, until, type Writer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

async function writer(): Promise<Writer> {
  const opened = await openWriter(server.database.url);
  onTestFinished(() => opened.close());
  return opened;
}

async function pool(): Promise<pg.Pool> {
  const opened = new pg.Pool({ connectionString: server.database.url });
  onTestFinished(() => opened.end());
  return opened;
}

/** Reads on from where it stopped, and gives the ids of all events it has seen. */
interface Follower {
  look(): Promise<Id[]>;
}

function byPosition(db: pg.Pool): Follower {
  let position: Position = ORIGIN;
  const seen: Id[] = [];
  return {
    async look() {
      const events = await readOutgoing(db, position, { batch: 1_000, maxBytes: 1_000_000 });
      position = events.at(-1)?.position ?? position;
      seen.push(...events.map((event) => event.eventId));
      return seen;
    },
  };
}

function byEventId(db: pg.Pool): Follower {
  let last = '0' as Id;
  const seen: Id[] = [];
  return {
    async look() {
      const { rows } = await db.query<{ event_id: Id }>(
        'SELECT event_id FROM noetl.event WHERE event_id > $1 ORDER BY event_id',
        [last],
      );
      last = rows.at(-1)?.event_id ?? last;
      seen.push(...rows.map((row) => row.event_id));
      return seen;
    },
  };
}

/** Looks until it has seen an event: transactions of other tests on this PostgreSQL hold reading back, too. */
async function lookFor(follower: Follower, event: Id): Promise<Id[]> {
  for (;;) {
    const seen = await follower.look();
    if (seen.includes(event)) return seen;
  }
}

describe('an event that was written first and committed last', () => {
  const late = async (follower: Follower) => {
    const [slow, fast] = [await writer(), await writer()];
    await slow.begin();
    const first = await slow.write();
    const second = await fast.write();
    await follower.look();
    await slow.commit();
    const seen = new Set(await lookFor(follower, second));
    return { first: seen.has(first), second: seen.has(second) };
  };

  it('is seen by who follows positions', async () => {
    expect(await late(byPosition(await pool()))).toEqual({ first: true, second: true });
  });

  it('is lost to who follows event ids, which is why nobody here does', async () => {
    expect(await late(byEventId(await pool()))).toEqual({ first: false, second: true });
  });
});

it('reading waits behind an open transaction and goes on when it is rolled back', async () => {
  const [slow, fast, follower] = [await writer(), await writer(), byPosition(await pool())];
  await slow.begin();
  await slow.write();
  const waiting = await fast.write();
  expect(await follower.look()).not.toContain(waiting);
  await slow.rollback();
  expect(await lookFor(follower, waiting)).toContain(waiting);
});

it('reading does not wait for a transaction that only reads', async () => {
  const [reader, fast, follower] = [await writer(), await writer(), byPosition(await pool())];
  await reader.begin();
  const event = await fast.write();
  expect(await lookFor(follower, event)).toContain(event);
  await reader.rollback();
});

it('a batch that ends inside a transaction goes on inside it', async () => {
  const [bulk, db] = [await writer(), await pool()];
  await bulk.begin();
  const written: Id[] = [];
  for (let n = 0; n < 25; n++) written.push(await bulk.write());
  await bulk.commit();
  const seen: Id[] = [];
  let position: Position = ORIGIN;
  while (!seen.includes(written.at(-1) ?? ('0' as Id))) {
    const events = await readOutgoing(db, position, { batch: 7, maxBytes: 1_000_000 });
    position = events.at(-1)?.position ?? position;
    seen.push(...events.map((event) => event.eventId));
  }
  expect(seen.filter((id) => written.includes(id))).toEqual(written);
});

it('a tailer that looked while the transaction was open publishes it all the same', async () => {
  const nats = await startTestNats();
  const env = { NOETL_NATS_URL: nats.url, NOETL_EVENT_STREAM_ENABLED: '1', NOETL_EVENT_STREAM_POLL_MS: '10' };
  const tailing = await startTestServer({ database: server.database, env });
  const db = await pool();
  const [slow, fast] = [await writer(), await writer()];
  const early = await fast.write();
  await until(
    () => messagesIn(nats),
    (seen) => seen.some(({ eventId }) => eventId === early),
  );
  await slow.begin();
  const first = await slow.write();
  const second = await fast.write();
  await looked(db);
  await slow.commit();
  const seen = await until(
    () => messagesIn(nats),
    (all) => all.some(({ eventId }) => eventId === second),
  );
  expect(seen.map(({ eventId }) => eventId)).toContain(first);
  await tailing.close();
});

/** Resolves when a read of the tailer has begun after this call, and ended. */
async function looked(db: pg.Pool): Promise<void> {
  const { rows } = await db.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
  const reads = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle'
    AND query LIKE '%pg_snapshot_xmin%' AND query LIKE '%rows AS MATERIALIZED%' AND query_start > $1::timestamptz`;
  await until(
    () => db.query(reads, [rows[0]?.now]),
    ({ rowCount }) => (rowCount ?? 0) > 0,
  );
}
