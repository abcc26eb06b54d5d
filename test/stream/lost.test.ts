// NATS is a copy, never the store: without it the server runs as always, and what it lost is published again.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sql } from '../api/support/sql.js';
import { expectAllComplete, FIVE_STEPS } from '../chaos/checks.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { ids, messagesIn, openWriter, until, withNats } from './support.js';

const tailing = (nats: TestNats) =>
  startTestServer({
    env: { NOETL_NATS_URL: nats.url, NOETL_EVENT_STREAM_ENABLED: '1', NOETL_EVENT_STREAM_POLL_MS: '50' },
  });

async function logged(server: TestServer): Promise<string[]> {
  const rows = await sql<{ event_id: string }>(server.database, 'SELECT event_id FROM noetl.event');
  return rows.map(({ event_id }) => event_id).sort();
}

/** Resolves when the stream holds every event of the log; gives what it holds. */
async function filled(nats: TestNats, events: readonly string[]): Promise<string[]> {
  const seen = await until(
    () => messagesIn(nats),
    (all) => new Set(all.map(({ eventId }) => eventId)).size >= events.length,
  );
  return seen.map(({ eventId }) => eventId).sort();
}

it('a server whose NATS is not there yet works, and its events leave when NATS appears', async () => {
  const nats = await startTestNats();
  await nats.kill();
  const server = await tailing(nats);
  startTestWorker(server.client);
  await server.client.register(FIVE_STEPS);
  const { execution_id } = await server.client.execute({ path: 'chaos/five' });
  await expectAllComplete(server.client, [execution_id]);
  await nats.restart();
  const events = await logged(server);
  expect(await filled(nats, events)).toEqual(events);
  await server.close();
});

it('deleting all data of JetStream while executions run loses no event and stops no execution', async () => {
  const nats = await startTestNats();
  const server = await tailing(nats);
  startTestWorker(server.client);
  await server.client.register(FIVE_STEPS);
  const start = async () => (await server.client.execute({ path: 'chaos/five' })).execution_id;
  const first = await Promise.all(Array.from({ length: 10 }, start));
  await until(
    () => messagesIn(nats),
    (seen) => seen.length > 50,
  );
  await nats.restart({ emptied: true });
  const second = await Promise.all(Array.from({ length: 10 }, start));
  await expectAllComplete(server.client, [...first, ...second]);
  const events = await logged(server);
  expect(await filled(nats, events)).toEqual(events);
  await server.close();
});

it('a stream that somebody deletes while nothing happens is made again and filled again', async () => {
  const nats = await startTestNats();
  const server = await tailing(nats);
  const writer = await openWriter(server.database.url);
  for (let n = 0; n < 20; n++) await writer.write();
  const events = await logged(server);
  await filled(nats, events);
  await withNats(nats, (_connection, manager) => manager.streams.delete('noetl_events'));
  expect(await filled(nats, events)).toEqual(events);
  await writer.close();
  await server.close();
});

it('a back-fill goes on where it was when NATS is killed in the middle, again and again', async () => {
  const nats = await startTestNats();
  const { database } = await startTestServer();
  await sql(
    database,
    `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type)
     SELECT $1::bigint + n / 100, $1::bigint + n, n, 1, 'note.made' FROM generate_series(1, 20000) AS n`,
    [ids.next()],
  );
  const server = await startTestServer({
    database,
    env: {
      NOETL_NATS_URL: nats.url,
      NOETL_EVENT_STREAM_ENABLED: '1',
      NOETL_EVENT_STREAM_BACKFILL: '1',
      NOETL_EVENT_STREAM_BATCH: '50',
    },
  });
  for (const part of [3_000, 8_000, 15_000]) {
    await until(
      () => withNats(nats, (_connection, manager) => manager.streams.info('noetl_events')),
      ({ state }) => state.messages > part,
    );
    await nats.freeze();
    await delay(300); // what is sent meanwhile is never acknowledged
    await nats.restart();
  }
  const events = await logged(server);
  expect(await filled(nats, events)).toEqual(events);
  await server.close();
});
