// What an operator meets: a stream that is not as the settings say, one that cannot be made, a database that came from elsewhere.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { StreamConfig } from '@nats-io/jetstream';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Json, JsonObject } from '../../packages/core/src/index.js';
import { get } from '../api/support/ask.js';
import { sql } from '../api/support/sql.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { messagesIn, openWriter, until, withNats } from './support.js';

const startTailing = (nats: TestNats, more: Record<string, string> = {}, database?: TestServer['database']) =>
  startTestServer({
    ...(database === undefined ? {} : { database }),
    env: { NOETL_NATS_URL: nats.url, NOETL_EVENT_STREAM_ENABLED: '1', NOETL_EVENT_STREAM_POLL_MS: '20', ...more },
  });

async function writes(server: TestServer): Promise<string> {
  const writer = await openWriter(server.database.url);
  onTestFinished(() => writer.close());
  return await writer.write();
}

const arrives = (nats: TestNats, event: string) =>
  until(
    () => messagesIn(nats),
    (seen) => seen.some(({ eventId }) => eventId === event),
  );

const ops = async (server: TestServer) => (await get(server.url, '/api/ops/streams')).body;
const first = (list: Json | undefined) => (list as JsonObject[])[0] ?? {};

/** Resolves when everything has left and nothing is wrong. */
const caughtUp = (server: TestServer) =>
  until(
    async () => first((await ops(server))['shards']),
    ({ last_error, lag_events }) => last_error === null && lag_events === 0,
  );

const made = (nats: TestNats, config: Partial<StreamConfig> & { name: string }) =>
  withNats(nats, (_connection, manager) => manager.streams.add(config));

it('a stream with other settings is used as it is, and the differences are reported', async () => {
  const nats = await startTestNats();
  await made(nats, { name: 'noetl_events', subjects: ['noetl.events.>'], max_age: 60e9, duplicate_window: 30e9 });
  const server = await startTailing(nats);
  await arrives(nats, await writes(server));
  expect(first((await ops(server))['streams'])).toMatchObject({
    name: 'noetl_events',
    differences: [
      { setting: 'max_age_seconds', wanted: '86400', actual: '60' },
      { setting: 'duplicate_window_seconds', wanted: '120', actual: '30' },
    ],
  });
  const { config } = await withNats(nats, (_connection, manager) => manager.streams.info('noetl_events'));
  expect(config.max_age).toBe(60e9);
});

it('a stream that lacks our subjects gets them and keeps its own', async () => {
  const nats = await startTestNats();
  await made(nats, { name: 'noetl_events', subjects: ['audit.>'] });
  const server = await startTailing(nats);
  await arrives(nats, await writes(server));
  const { config } = await withNats(nats, (_connection, manager) => manager.streams.info('noetl_events'));
  expect(config.subjects).toEqual(['audit.>', 'noetl.events.>']);
});

it('the stream comes with the consumers that downstream parts expect', async () => {
  const nats = await startTestNats();
  const server = await startTailing(nats);
  await arrives(nats, await writes(server));
  const all = await withNats(nats, (_connection, manager) => manager.consumers.list('noetl_events').next());
  const consumers = all.filter(({ config }) => config.durable_name !== undefined);
  expect(consumers.map(({ name, config }) => [name, config.ack_policy, config.filter_subject]).sort()).toEqual([
    ['noetl_materializer', 'explicit', 'noetl.events.>'],
    ['noetl_projector', 'explicit', 'noetl.events.>'],
  ]);
});

it('a stream that cannot be made is an error one can read, and is made when the cause is gone', async () => {
  const nats = await startTestNats();
  await made(nats, { name: 'other', subjects: ['noetl.events.>'] });
  const server = await startTailing(nats);
  const event = await writes(server);
  const stuck = await until(
    () => ops(server),
    (body) => first(body['shards'])['last_error'] !== null,
  );
  expect(first(stuck['shards'])).toMatchObject({ last_error: expect.stringMatching(/overlap/), lag_events: 1 });
  expect((await get(server.url, '/api/health')).status).toBe(200);
  await withNats(nats, (_connection, manager) => manager.streams.delete('other'));
  await arrives(nats, event);
  await caughtUp(server);
});

it('while NATS is away nobody leads, and the lag and the reason show', async () => {
  const nats = await startTestNats();
  const server = await startTailing(nats);
  await arrives(nats, await writes(server));
  await caughtUp(server);
  await nats.kill();
  await writes(server);
  const body = await until(
    () => ops(server),
    (answer) => first(answer['shards'])['leader'] === null,
  );
  expect(body).toMatchObject({
    nats: { connected: false, last_error: expect.any(String) },
    shards: [{ lag_events: 1, lag_seconds: expect.any(Number) }],
  });
  expect((await get(server.url, '/api/health')).body).toMatchObject({ status: 'ok', nats: 'disconnected' });
});

it('credentials in the address open NATS and are shown to nobody', async () => {
  const nats = await startTestNats({ login: { user: 'noetl', password: 'open-sesame' } });
  const server = await startTailing(nats);
  await arrives(nats, await writes(server));
  expect((await get(server.url, '/api/ops/streams')).text).not.toContain('open-sesame');
});

it('wrong credentials are an error one can read', async () => {
  const nats = await startTestNats({ login: { user: 'noetl', password: 'open-sesame' } });
  const server = await startTailing(nats, { NOETL_NATS_URL: `nats://noetl:wrong@127.0.0.1:${nats.port}` });
  const body = await until(
    () => ops(server),
    (answer) => (answer['nats'] as JsonObject)['last_error'] !== null,
  );
  expect(body['nats']).toMatchObject({ connected: false, last_error: expect.stringMatching(/authorization/i) });
});

it('of two servers one leads, and both name it', async () => {
  const nats = await startTestNats();
  const one = await startTailing(nats);
  const two = await startTailing(nats, {}, one.database);
  const leaderAt = async (server: TestServer) => first((await ops(server))['shards'])['leader'] as JsonObject | null;
  const leader = await until(
    () => leaderAt(one),
    (found) => found !== null,
  );
  expect((await leaderAt(two))?.['holder']).toBe(leader?.['holder']);
  await arrives(nats, await writes(one));
  expect(await messagesIn(nats)).toHaveLength(1);
});

it('when the leader closes, another server goes on', async () => {
  const nats = await startTestNats();
  const one = await startTailing(nats);
  await arrives(nats, await writes(one));
  const two = await startTailing(nats, {}, one.database);
  await one.close();
  await arrives(nats, await writes(two));
});

describe('a database that was restored into another cluster', () => {
  /** As after a restore: the numbers of old transactions lie in the future. */
  const restored = async (nats: TestNats) => {
    const before = await startTailing(nats);
    const { database } = before;
    const sent = await writes(before);
    await arrives(nats, sent);
    await caughtUp(before);
    await before.close();
    const unsent = await writes(before);
    await sql(
      database,
      `UPDATE noetl.event SET tx_id = CASE event_id WHEN $1 THEN '900000000000' ELSE '900000000001' END::xid8`,
      [sent],
    );
    await sql(database, `UPDATE noetl.stream_cursor SET position = '900000000000/9223372036854775807/9'`);
    return { database, unsent };
  };

  it('stops the stream visibly instead of losing events', async () => {
    const nats = await startTestNats();
    const { database } = await restored(nats);
    const server = await startTailing(nats, {}, database);
    const shard = await until(
      async () => first((await ops(server))['shards']),
      ({ last_error }) => last_error !== null,
    );
    expect(shard).toMatchObject({
      last_error: expect.stringContaining('another database cluster'),
      cursor: { position: 'foreign:900000000000/9223372036854775807/9' },
      lag_events: null,
    });
  });

  it('streams everything that was missing after the statements of the documentation', async () => {
    const nats = await startTestNats();
    const { database, unsent } = await restored(nats);
    const stopped = await startTailing(nats, {}, database);
    await until(
      async () => first((await ops(stopped))['shards']),
      ({ last_error }) => last_error !== null,
    );
    const meanwhile = await writes(stopped);
    await stopped.close();
    await sql(database, statementsIn('docs/event-stream.md'));
    const server = await startTailing(nats, {}, database);
    await arrives(nats, unsent);
    await arrives(nats, meanwhile);
    await arrives(nats, await writes(server));
  });
});

function statementsIn(page: string): string {
  const text = readFileSync(fileURLToPath(new URL(`../../${page}`, import.meta.url)), 'utf8');
  return /```sql\n(BEGIN;[\s\S]*?)```/.exec(text)?.[1] ?? '';
}
