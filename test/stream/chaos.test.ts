// Promise: every committed event is in the stream at least once, whatever is killed on the way; twice only outside the dedup window.
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort, type Process, startServerProcess } from '../chaos/processes.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import { freshDatabase } from '../support/postgres.js';
import { messagesIn, openWriter, type Seen, until } from './support.js';

const WRITERS = 20;
const DEDUP_MS = 120_000;
const SEED = 20_261_116;

const SETTINGS = {
  NOETL_EVENT_STREAM_ENABLED: 'on',
  NOETL_EVENT_STREAM_BACKFILL: 'on',
  NOETL_EVENT_STREAM_BATCH: '100',
  NOETL_EVENT_STREAM_POLL_MS: '50',
};
afterAll(() => {
  for (const name of [...Object.keys(SETTINGS), 'NOETL_NATS_URL']) delete process.env[name];
});

async function startServers(databaseUrl: string, nats: TestNats, count: number): Promise<Process[]> {
  Object.assign(process.env, SETTINGS, { NOETL_NATS_URL: nats.url });
  const servers: Process[] = [];
  for (let n = 0; n < count; n++) {
    const server = startServerProcess(databaseUrl, await freePort());
    await server.ready;
    servers.push(server);
  }
  return servers;
}

/** kill -9 of the server that copies the log right now; resolves when another one does. */
async function killLeader(db: pg.Client): Promise<void> {
  const leader = async () => {
    const { rows } = await db.query<{ holder: string }>(
      `SELECT holder FROM noetl.leader_lease WHERE name = 'event_stream_tailer' AND lease_until > now()`,
    );
    return rows[0]?.holder;
  };
  const old = await until(leader, (holder) => holder !== undefined);
  process.kill(Number(old?.split('/')[1]), 'SIGKILL');
  await until(leader, (holder) => holder !== undefined && holder !== old);
}

describe('20 writers with transactions that stay open', () => {
  it('lose no event while leaders and NATS are killed', { timeout: 180_000 }, async () => {
    const nats = await startTestNats();
    const database = await freshDatabase();
    const servers = await startServers(database.url, nats, 3);
    const db = new pg.Client({ connectionString: database.url });
    await db.connect();
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.kill('SIGKILL')));
      await db.end();
      await database.drop();
    });

    const committed = new Set<string>();
    const undone = new Set<string>();
    let done = false;
    const transaction = fc.record({
      events: fc.integer({ min: 1, max: 5 }),
      holdMs: fc.integer({ min: 0, max: 400 }),
      undo: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    });
    const plans = fc.sample(fc.array(transaction, { minLength: 50, maxLength: 50 }), { seed: SEED, numRuns: WRITERS });
    const writing = Promise.all(
      plans.map(async (plan) => {
        const writer = await openWriter(database.url);
        for (let turn = 0; !done; turn = (turn + 1) % plan.length) {
          const { events = 1, holdMs = 0, undo = false } = plan[turn] ?? {};
          await writer.begin();
          const written: string[] = [];
          for (let n = 0; n < events; n++) written.push(await writer.write());
          await delay(holdMs); // transactions that stay open are the point of this test
          await (undo ? writer.rollback() : writer.commit());
          for (const id of written) (undo ? undone : committed).add(id);
        }
        await writer.close();
      }),
    );
    const moreCommits = (count: number) => {
      const before = committed.size;
      return until(
        async () => committed.size,
        (size) => size > before + count,
      );
    };

    await killLeader(db);
    await nats.kill();
    await moreCommits(300);
    await nats.restart();
    await moreCommits(100);
    await killLeader(db);
    await moreCommits(100);
    done = true;
    await writing;

    const seen = await until(
      () => messagesIn(nats),
      (all) => new Set(all.map(({ eventId }) => eventId)).size >= committed.size,
    );
    const ids = seen.map(({ eventId }) => eventId);
    expect([...committed].filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids.filter((id) => undone.has(id))).toEqual([]);
    expect(repeatedTooSoon(seen)).toEqual([]);
  });
});

/** Messages of one event that are closer to each other than the dedup window. */
function repeatedTooSoon(seen: readonly Seen[]): string[] {
  const last = new Map<string, number>();
  return seen.flatMap(({ eventId, at }) => {
    const earlier = last.get(eventId);
    last.set(eventId, at);
    return earlier !== undefined && at - earlier < DEDUP_MS ? [eventId] : [];
  });
}
