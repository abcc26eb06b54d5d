import { Agent, request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSnowflake, type JsonObject } from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ask, post } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { sql } from './support/sql.js';

let server: TestServer;
let execution: string;
const ids = createSnowflake({ machineId: 900, now: Date.now });

beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('evt/one', 1));
  execution = await start();
});

const start = async () => (await server.client.execute({ path: 'evt/one', execution_pool: 'nobody' })).execution_id;
const send = (event: object) =>
  post(server.url, '/api/events', { execution_id: execution, step: 'start', event_type: 'note.made', ...event });

interface Row extends JsonObject {
  event_id: string;
  event_type: string;
}

async function stored(eventId: unknown): Promise<Row> {
  const [row] = await sql<Row>(
    server.database,
    `SELECT event_id, event_type, node_id, node_name, node_type, status, worker_id, context, result, meta, error, catalog_id,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS created_at
     FROM noetl.event WHERE event_id = $1`,
    [String(eventId)],
  );
  if (row === undefined) throw new Error(`event ${String(eventId)} is not stored`);
  return row;
}

describe('one event becomes a row', () => {
  it.each([
    ['call.done', 'COMPLETED'],
    ['step.exit', 'COMPLETED'],
    ['thing.completed', 'COMPLETED'],
    ['completed.with.error', 'COMPLETED'],
    ['thing.error', 'FAILED'],
    ['thing.failed', 'FAILED'],
    ['thing.started', 'RUNNING'],
  ])('%s without status is %s', async (event_type, status) => {
    const row = await stored((await send({ event_type })).body.event_id);
    expect({ status: row.status, result: row.result }).toEqual({ status, result: { status } });
  });

  it('keeps a status that was given', async () => {
    const row = await stored((await send({ event_type: 'thing.done', status: 'APPLIED' })).body.event_id);
    expect({ status: row.status, result: row.result }).toEqual({ status: 'APPLIED', result: { status: 'APPLIED' } });
  });

  it.each([
    ['an object', { a: 1 }, { context: { a: 1 } }],
    ['a list', [1], {}],
    ['a text', 'x', {}],
    ['null', null, {}],
  ])('payload %s', async (_, payload, kept) => {
    const row = await stored((await send({ payload })).body.event_id);
    expect(row.result).toEqual({ status: 'RUNNING', ...kept });
    expect(row.context).toBeNull();
  });

  it('takes context for payload, name for event_type and node_name for step', async () => {
    const { body } = await post(server.url, '/api/events', {
      execution_id: execution,
      node_name: 'start',
      name: 'note.made',
      context: { a: 1 },
    });
    expect(await stored(body.event_id)).toMatchObject({
      event_type: 'note.made',
      node_id: 'start',
      node_name: 'start',
      result: { status: 'RUNNING', context: { a: 1 } },
    });
  });

  it.each([
    ['gs://bucket/x', 'gcs'],
    ['s3://bucket/x', 's3'],
    ['noetl://execution/1/result/x/2', 'artifact'],
  ])('a ref to %s is of tier %s', async (result_uri, store_tier) => {
    const row = await stored(
      (await send({ result_kind: 'ref', result_uri, payload: { dropped: true } })).body.event_id,
    );
    expect(row.result).toEqual({ status: 'RUNNING', reference: { store_tier, logical_uri: result_uri } });
  });

  it('refs are counted', async () => {
    const row = await stored((await send({ result_kind: 'refs', event_ids: [1, 2, 3] })).body.event_id);
    expect(row.result).toEqual({ status: 'RUNNING', reference: { event_ids: [1, 2, 3], total_parts: 3 } });
  });

  it('meta gains actionable, informative and worker_id', async () => {
    const row = await stored((await send({ meta: { mine: 1 }, worker_id: 'w9', actionable: false })).body.event_id);
    expect(row.meta).toEqual({ mine: 1, actionable: false, informative: true, worker_id: 'w9' });
    expect(row.worker_id).toBe('w9');
  });

  it('meta without anything given', async () => {
    const row = await stored((await send({})).body.event_id);
    expect(row.meta).toEqual({ actionable: true, informative: true });
  });

  it.each([
    ['2026-05-31T03:14:15Z', '2026-05-31T03:14:15.000000'],
    ['2026-05-31T03:14:15.123456+02:00', '2026-05-31T01:14:15.123456'],
    ['2026-05-31T03:14:15', '2026-05-31T03:14:15.000000'],
    ['2026-05-31 03:14:15.5', '2026-05-31T03:14:15.500000'],
  ])('created_at %s is kept as %s UTC', async (created_at, expected) => {
    const row = await stored((await send({ created_at })).body.event_id);
    expect(row.created_at).toBe(expected);
  });

  it('takes the catalog id of its execution', async () => {
    const row = await stored((await send({})).body.event_id);
    const { catalog_id } = await server.client.execution(execution);
    expect(row.catalog_id).toBe(catalog_id);
  });
});

describe('ids', () => {
  it('are answered as integer literals', async () => {
    const event_id = ids.next();
    const { text } = await send({ event_id });
    expect(text).toBe(`{"status":"ok","event_id":${event_id},"commands_generated":0}`);
  });

  it.each(['string', 'integer'])('are taken as %s', async (form) => {
    const event_id = ids.next();
    const given = (value: string) => (form === 'string' ? value : BigInt(value));
    const { body } = await send({ execution_id: given(execution), event_id: given(event_id) });
    expect(body.event_id).toBe(BigInt(event_id));
    expect((await stored(event_id)).event_id).toBe(event_id);
  });

  it('the same id twice is stored once and answered alike', async () => {
    const event_id = ids.next();
    const one = await send({ event_id, payload: { n: 1 } });
    const two = await send({ event_id, payload: { n: 2 } });
    expect([two.status, two.text]).toEqual([200, one.text]);
    expect((await stored(event_id)).result).toMatchObject({ context: { n: 1 } });
  });

  it('the same id in two executions is two events', async () => {
    const event_id = ids.next();
    const other = await start();
    await send({ event_id });
    await send({ event_id, execution_id: other });
    const rows = await sql(server.database, 'SELECT execution_id FROM noetl.event WHERE event_id = $1', [event_id]);
    expect(rows).toHaveLength(2);
  });

  it.each([
    [{ execution_id: 'x' }, 422, 'Invalid execution_id'],
    [{ execution_id: [1] }, 422, 'Invalid execution_id'],
    [{ execution_id: 1.5 }, 422, 'Invalid execution_id'],
    [{ event_id: 'x' }, 422, 'Invalid event_id: x'],
    [{ execution_id: '12345' }, 404, 'Execution not found: 12345'],
    [{ step: null }, 422, /step/],
    [{ event_type: '' }, 422, /event_type/],
    [{ meta: [] }, 422, /meta/],
    [{ status: 7 }, 422, /status/],
    [{ created_at: 'yesterday' }, 422, /created_at/],
  ])('%j is %i', async (event, status, error) => {
    const answer = await send(event);
    expect({ status: answer.status, error: answer.body.error }).toEqual({
      status,
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
  });
});

describe('history from outside moves nothing', () => {
  it.each(['playbook.completed', 'playbook_failed', 'execution.cancelled', 'step.enter', 'command.issued'])(
    '%s is stored and the execution goes on',
    async (event_type) => {
      const { status } = await send({ event_type });
      expect(status).toBe(200);
      expect((await server.client.status(execution)).status).toBe('RUNNING');
    },
  );
});

describe('batch', () => {
  const batch = (events: unknown, more: object = {}) =>
    post(server.url, '/api/events/batch', { execution_id: execution, events, ...more });

  it('stores in order and answers with integer literals', async () => {
    const event_id = ids.next();
    const { text, body } = await batch([
      { step: 'start', event_type: 'first.done' },
      { step: 'start', event_type: 'second.failed', event_id },
    ]);
    expect(text).toMatch(new RegExp(`"event_ids":\\[\\d{17,19},${event_id}\\]`));
    const [first, second] = body.event_ids as bigint[];
    expect([(await stored(first)).status, (await stored(second)).status]).toEqual(['COMPLETED', 'FAILED']);
  });

  it('takes worker_id for all and per-item meta, status and created_at', async () => {
    const item = { step: 'start', event_type: 'x', meta: { m: 1 }, status: 'S', created_at: '2026-01-01T00:00:00Z' };
    const { body } = await batch([item], { worker_id: 'w7' });
    const [id] = body.event_ids as bigint[];
    expect(await stored(id)).toMatchObject({
      status: 'S',
      worker_id: 'w7',
      meta: { m: 1, actionable: false, informative: true, worker_id: 'w7' },
      created_at: '2026-01-01T00:00:00.000000',
    });
  });

  it('with nothing is ok', async () => {
    const { status, body } = await batch([]);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'ok', event_ids: [], commands_generated: 0 },
    });
  });

  it('names the item that is wrong and stores none', async () => {
    const event_id = ids.next();
    const { status, body } = await batch([{ step: 'start', event_type: 'x', event_id }, { event_type: 'x' }]);
    expect({ status, error: body.error }).toEqual({ status: 422, error: expect.stringMatching(/^events\[1\]/) });
    await expect(stored(event_id)).rejects.toThrow();
  });

  it('of an unknown execution is 404', async () => {
    expect((await batch([{ step: 's', event_type: 'x' }], { execution_id: 5 })).status).toBe(404);
  });
});

describe('retries under load', () => {
  it('10,000 events sent twice over 32 connections are stored once each, without a 5xx', async () => {
    const executions = await Promise.all(Array.from({ length: 50 }, start));
    const events = Array.from({ length: 10_000 }, (_, n) => ({
      execution_id: executions[n % 50],
      event_id: ids.next(),
    }));
    const bodies = [...events, ...events].map((event) =>
      JSON.stringify({ ...event, step: 'start', event_type: 'note.made', payload: { n: event.event_id } }),
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    const statuses = new Map<number, number>();
    const queue = bodies.values();
    const connection = async () => {
      for (const body of queue) {
        const status = await postOver(agent, body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 32 }, connection));
    agent.destroy();
    expect([...statuses]).toEqual([[200, 20_000]]);
    const [count] = await sql(
      server.database,
      `SELECT count(*)::int AS n, count(DISTINCT event_id)::int AS different FROM noetl.event
       WHERE event_type = 'note.made' AND execution_id = ANY ($1::bigint[])`,
      [executions],
    );
    expect(count).toEqual({ n: 10_000, different: 10_000 });
  });

  it('one id sent by 32 connections at the same moment is stored once', async () => {
    const event_id = ids.next();
    const answers = await Promise.all(Array.from({ length: 32 }, () => send({ event_id })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const rows = await sql(server.database, 'SELECT 1 FROM noetl.event WHERE event_id = $1', [event_id]);
    expect(rows).toHaveLength(1);
  });

  function postOver(agent: Agent, body: string): Promise<number> {
    const { hostname, port } = new URL(server.url);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path: '/api/events', method: 'POST', headers, agent }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
});

it('a body of 3 MB is taken where events go', async () => {
  const text = JSON.stringify({
    execution_id: execution,
    step: 'start',
    event_type: 'big',
    payload: { x: 'y'.repeat(3_000_000) },
  });
  const { status } = await ask(server.url, 'POST', '/api/events', {
    text,
    headers: { 'content-type': 'application/json' },
  });
  expect(status).toBe(200);
});
