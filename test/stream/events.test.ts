// The event stream as its consumers meet it: what arrives, under which subject, in which shape.
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/index.js';
import { get } from '../api/support/ask.js';
import { chain } from '../api/support/playbooks.js';
import { workOff } from '../api/support/reports.js';
import { sql } from '../api/support/sql.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import type { TestDatabase } from '../support/postgres.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { ids, messagesIn, openWriter, type Seen, until, type Writer } from './support.js';

const streaming = (nats: TestNats, more: Record<string, string> = {}) => ({
  NOETL_NATS_URL: nats.url,
  NOETL_EVENT_STREAM_ENABLED: 'true',
  ...more,
});

describe('an execution', () => {
  let nats: TestNats;
  let server: TestServer;
  let execution: string;
  let seen: Seen[];

  beforeAll(async () => {
    nats = await startTestNats();
    server = await startTestServer({ env: streaming(nats) });
    await server.client.register(chain('stream/two', 2));
    ({ execution_id: execution } = await server.client.execute({ path: 'stream/two' }));
    await workOff(server.client);
    const [count] = await sql<{ n: number }>(server.database, 'SELECT count(*)::int AS n FROM noetl.event');
    seen = await until(
      () => messagesIn(nats),
      (all) => all.length >= (count?.n ?? 0),
    );
  });

  it('is in the stream event by event, in the order of its log', async () => {
    const rows = await sql<{ event_id: string }>(
      server.database,
      'SELECT event_id FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version',
      [execution],
    );
    expect(seen.map(({ eventId }) => eventId)).toEqual(rows.map(({ event_id }) => event_id));
  });

  it('sends each event under a subject that ends in its type, with its id as message id', () => {
    for (const { subject, messageId, body, eventId } of seen) {
      expect({ subject, messageId }).toEqual({ subject: `noetl.events.${body['event_type']}`, messageId: eventId });
    }
  });

  it('sends every column of the row, ids as numbers', async () => {
    const [row] = await sql<{ row: Record<string, unknown> }>(
      server.database,
      `SELECT to_jsonb(e) AS row FROM noetl.event e WHERE execution_id = $1 AND stream_version = 1`,
      [execution],
    );
    const [first] = seen;
    expect(Object.keys(first?.body ?? {}).sort()).toEqual(Object.keys(row?.row ?? {}).sort());
    expect(first?.body).toMatchObject({
      execution_id: BigInt(execution),
      stream_version: 1,
      event_type: 'playbook_started',
    });
  });

  it('can be fetched event by event in the same shape', async () => {
    const [first] = seen;
    const { status, body } = await get(server.url, `/api/events/${execution}/${first?.eventId}`);
    expect({ status, body }).toEqual({ status: 200, body: first?.body });
  });

  it('leaves a cursor behind and no lag', async () => {
    const { body } = await until(
      () => get(server.url, '/api/ops/streams'),
      (answer) =>
        JSON.stringify(answer.body['shards'] ?? '', (_k, v) => (typeof v === 'bigint' ? `${v}` : v)).includes(
          '"lag_events":0',
        ),
    );
    expect(body).toMatchObject({
      enabled: true,
      nats: { configured: true, connected: true, last_error: null },
      streams: [{ name: 'noetl_events', exists: true, messages: seen.length, differences: [], error: null }],
      shards: [{ shard: 'shard-0', lag_events: 0, last_error: null, cursor: { event_id: seen.at(-1)?.eventId } }],
    });
  });
});

describe('events of any kind', () => {
  let nats: TestNats;
  let server: TestServer;
  let writer: Writer;

  beforeAll(async () => {
    nats = await startTestNats();
    server = await startTestServer({ env: streaming(nats, { NOETL_EVENT_STREAM_POLL_MS: '20' }) });
    writer = await openWriter(server.database.url);
    return () => writer.close();
  });

  const arrived = async (event: string, execution: string = writer.execution): Promise<Seen> => {
    const isIt = ({ eventId, body }: Seen) => eventId === event && String(body['execution_id']) === execution;
    const all = await until(
      () => messagesIn(nats),
      (seen) => seen.some(isIt),
    );
    return all.find(isIt) as Seen;
  };

  it('with a type that is no subject arrive under one that is', async () => {
    const event = await writer.write({ type: 'two words.*' });
    expect(await arrived(event)).toMatchObject({
      subject: 'noetl.events.two_words._',
      body: { event_type: 'two words.*' },
    });
  });

  it('with a very long type do not stop those behind them', async () => {
    await writer.write({ type: 'x'.repeat(10_000) });
    await arrived(await writer.write());
  });

  it('arrive with their secrets masked', async () => {
    const event = await writer.write({ context: { password: 'correct-horse-battery' } });
    expect((await arrived(event)).body['context']).not.toMatchObject({ password: 'correct-horse-battery' });
  });

  it('too large for a message arrive as a claim check that leads to the whole event', async () => {
    const text = 'large '.repeat(200_000);
    const event = await writer.write({ context: { text } });
    const { body } = await arrived(event);
    expect(body).toMatchObject({ event_type: 'note.made', context: null, payload_ref: { event_id: BigInt(event) } });
    const { url } = body['payload_ref'] as { url: string };
    const whole = await get(server.url, new URL(url).pathname);
    expect(whole.body).toMatchObject({ event_id: BigInt(event), context: { text } });
    const metrics = (await get(server.url, '/metrics')).text;
    expect(metrics).toMatch(/noetl_event_stream_skipped_total\{event_type="other"\} 1/);
  });

  it('that share their id with an event of another execution arrive both', async () => {
    const event = ids.next();
    const other = ids.next();
    await writer.write({ event });
    await writer.write({ event, execution: other });
    await arrived(event);
    await arrived(event, other);
  });
});

describe('where a stream begins', () => {
  const firstSeen = async (more: Record<string, string>) => {
    const nats = await startTestNats();
    const before = await startTestServer();
    const writer = await openWriter(before.database.url);
    const old = await writer.write();
    const server = await startTestServer({ database: before.database, env: streaming(nats, more) });
    const fresh = await writer.write();
    const seen = await until(
      () => messagesIn(nats),
      (all) => all.some(({ eventId }) => eventId === fresh),
    );
    await writer.close();
    await server.close();
    return seen.some(({ eventId }) => eventId === old) ? 'with the oldest event' : 'now';
  };

  it('is now, unless told otherwise', async () => {
    expect(await firstSeen({})).toBe('now');
  });

  it('is the oldest event when back-fill is on', async () => {
    expect(await firstSeen({ NOETL_EVENT_STREAM_BACKFILL: 'true' })).toBe('with the oldest event');
  });

  it('goes on after a restart with what was committed in between', async () => {
    const nats = await startTestNats();
    const first = await startTestServer({ env: streaming(nats) });
    const { database } = first;
    await first.close();
    const writer = await openWriter(database.url);
    const between = await writer.write();
    const second = await startTestServer({ database, env: streaming(nats) });
    const seen = await until(
      () => messagesIn(nats),
      (all) => all.length > 0,
    );
    expect(seen.map(({ eventId }) => eventId)).toEqual([between]);
    await writer.close();
    await second.close();
  });
});

it('without NATS the route says so, and the metrics stand at zero', async () => {
  const server = await startTestServer();
  const { body } = await get(server.url, '/api/ops/streams');
  expect(body).toMatchObject({
    enabled: false,
    command_transport: 'http',
    nats: { configured: false, connected: false },
    streams: [],
  });
  const metrics = (await get(server.url, '/metrics')).text;
  expect(metrics).toContain('noetl_event_stream_published_total{event_type="command.completed"} 0');
  expect(metrics).toContain('noetl_event_stream_skipped_total{event_type="command.completed"} 0');
  expect(metrics).toContain('noetl_event_stream_cursor 0');
  expect(metrics).toContain('noetl_event_stream_lag_seconds{shard="shard-0"} 0');
});

it('an event that does not exist cannot be fetched', async () => {
  const server = await startTestServer();
  expect(await get(server.url, '/api/events/1/2')).toMatchObject({ status: 404, body: { status: 404 } });
  expect(await get(server.url, '/api/events/one/2')).toMatchObject({ status: 400, body: { status: 400 } });
});

it('every shard has its part in the one stream', async () => {
  const nats = await startTestNats();
  const databases = [await ownDatabase(), await ownDatabase()];
  const [database] = databases;
  const server = await startTestServer({
    ...(database === undefined ? {} : { database }),
    env: streaming(nats, { NOETL_SHARDS: databases.map(shardDsn).join(',') }),
  });
  await server.client.register(chain('stream/shards', 1));
  const executions: string[] = [];
  for (let n = 0; n < 8; n++) executions.push((await server.client.execute({ path: 'stream/shards' })).execution_id);
  const seen = await until(
    () => messagesIn(nats),
    (all) => new Set(all.map(({ body }) => String(body['execution_id']))).size === executions.length,
  );
  expect(new Set(seen.map(({ body }) => String(body['execution_id'])))).toEqual(new Set(executions));
  const shards = await until(
    async () => (await get(server.url, '/api/ops/streams')).body['shards'] as JsonObject[],
    (list) => list.every(({ lag_events }) => lag_events === 0),
  );
  expect(shards.map(({ shard }) => shard)).toEqual(['shard-0', 'shard-1']);
});

function shardDsn({ url, name }: TestDatabase): string {
  const { hostname, port, username, password } = new URL(url);
  return `host=${hostname};port=${port};user=${username};password=${decodeURIComponent(password)};database=${name}`;
}
