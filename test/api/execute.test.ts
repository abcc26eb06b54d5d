import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { get, post } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { sql } from './support/sql.js';

let server: TestServer;
let first: string;
let second: string;
beforeAll(async () => {
  server = await startTestServer();
  first = (await server.client.register(chain('exec/a', 1, { workload: { name: 'world', size: 1 } }))).catalog_id;
  second = (await server.client.register(chain('exec/a', 2, { workload: { name: 'world', size: 1 } }))).catalog_id;
  await server.client.register('kind: Mcp\nmetadata:\n  path: exec/mcp\n');
});

const execute = (body: unknown, headers: Record<string, string> = {}) =>
  post(server.url, '/api/execute', body, headers);
const executions = async () =>
  Number((await sql<{ n: number }>(server.database, 'SELECT count(*)::int AS n FROM noetl.execution'))[0]?.n);

describe('execute', () => {
  it('starts the newest version and names what it started', async () => {
    const { status, body } = await execute({ path: 'exec/a' });
    expect(status).toBe(200);
    expect(body).toEqual({
      execution_id: expect.stringMatching(/^\d{17,19}$/),
      status: 'started',
      commands_generated: 1,
      path: 'exec/a',
      catalog_id: second,
      version: 2,
    });
  });

  it('is on disk when it is answered: start, first step and its command', async () => {
    const { body } = await execute({ path: 'exec/a' });
    const rows = await sql(
      server.database,
      'SELECT event_type, stream_version::int AS version FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version',
      [body.execution_id],
    );
    expect(rows).toEqual([
      { event_type: 'playbook_started', version: 1 },
      { event_type: 'step.enter', version: 2 },
      { event_type: 'command.issued', version: 3 },
    ]);
  });

  it.each([
    ['catalog_id as a string', () => ({ catalog_id: first }), 1],
    ['catalog_id as an integer literal', () => ({ catalog_id: BigInt(first) }), 1],
    ['catalog_id before path', () => ({ catalog_id: first, path: 'exec/mcp' }), 1],
    ['path and version as a number', () => ({ path: 'exec/a', version: 1 }), 1],
    ['path and version as text', () => ({ path: 'exec/a', version: '1' }), 1],
    ['path and latest', () => ({ path: 'exec/a', version: 'latest' }), 2],
    ['path and version null', () => ({ path: 'exec/a', version: null }), 2],
  ])('takes %s', async (_, body, version) => {
    const answer = await execute(body());
    expect({ status: answer.status, version: answer.body.version }).toEqual({ status: 200, version });
  });

  it.each(['payload', 'workload', 'args'])('lays %s over the workload key by key', async (field) => {
    const { body } = await execute({ path: 'exec/a', [field]: { name: 'Ada', more: [1] } });
    const detail = await get(server.url, `/api/executions/${String(body.execution_id)}`);
    expect(detail.body.workload).toEqual({ name: 'Ada', size: 1, more: [1] });
  });

  it('remembers its parent', async () => {
    const parent = String((await execute({ path: 'exec/a' })).body.execution_id);
    const child = String((await execute({ path: 'exec/a', parent_execution_id: BigInt(parent) })).body.execution_id);
    const children = await server.client.listExecutions({ parent_execution_id: parent });
    expect(children.map(({ execution_id, parent_execution_id }) => [execution_id, parent_execution_id])).toEqual([
      [child, parent],
    ]);
  });

  it('inherits the trace of its parent', async () => {
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const parent = (await execute({ path: 'exec/a', trace })).body.execution_id;
    const child = String((await execute({ path: 'exec/a', parent_execution_id: parent })).body.execution_id);
    const [start] = (await server.client.events(child, { event_type: 'playbook_started' })).events;
    expect(start?.meta).toMatchObject({ trace });
  });

  it.each([
    [{}, 422, "Either 'path' or 'catalog_id' must be provided"],
    [{ path: 'no/such' }, 404, 'Playbook not found: no/such'],
    [{ catalog_id: '12345' }, 404, 'Catalog entry not found: 12345'],
    [{ catalog_id: 'x' }, 422, 'Invalid catalog_id'],
    [{ path: 'exec/a', version: 'x' }, 422, 'Invalid version number'],
    [{ path: 'exec/a', version: 9 }, 404, "Catalog entry 'exec/a' version 9 not found"],
    [{ path: 'exec/a', payload: [] }, 422, "field 'payload' must be an object"],
    [{ path: 'exec/a', parent_execution_id: 'x' }, 422, 'Invalid parent_execution_id'],
    [{ path: 'exec/a', execution_pool: 'a.b' }, 422, /execution_pool/],
    [{ path: 'exec/a', resource_kind: 'agent' }, 422, "'exec/a' is a playbook, not a agent"],
    [{ path: 'exec/mcp' }, 422, /only playbooks and agents/],
    [{ path: 7 }, 422, "field 'path' must be a string"],
    [{ path: 'exec/a', dedup: 'x' }, 422, /dedup/],
    [{ path: 'exec/a', dedup: { key: 'k', window_secs: 0 } }, 422, /window_secs/],
  ])('answers %j with %i and starts nothing', async (body, status, error) => {
    const before = await executions();
    const answer = await execute(body);
    expect({ status: answer.status, error: answer.body.error }).toEqual({
      status,
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
    expect(await executions()).toBe(before);
  });
});

describe('Idempotency-Key', () => {
  it('32 concurrent requests with one key start exactly one execution', async () => {
    const before = await executions();
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => execute({ path: 'exec/a' }, { 'idempotency-key': 'race' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.execution_id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.status === 'started')).toHaveLength(1);
    expect(await executions()).toBe(before + 1);
  });

  it('answers a repetition with duplicate and the same execution', async () => {
    const one = await execute({ path: 'exec/a' }, { 'idempotency-key': 'again' });
    const two = await execute({ path: 'exec/a' }, { 'idempotency-key': 'again' });
    expect(two.body).toMatchObject({ execution_id: one.body.execution_id, status: 'duplicate', commands_generated: 0 });
  });

  it('does not care about the order of keys in the body', async () => {
    const one = await execute({ path: 'exec/a', payload: { a: 1, b: 2 } }, { 'idempotency-key': 'order' });
    const two = await execute({ payload: { b: 2, a: 1 }, path: 'exec/a' }, { 'idempotency-key': 'order' });
    expect(two.body.execution_id).toBe(one.body.execution_id);
  });

  it('answers another body under the same key with 409', async () => {
    await execute({ path: 'exec/a' }, { 'idempotency-key': 'other' });
    const { status, body } = await execute({ path: 'exec/a', payload: { x: 1 } }, { 'idempotency-key': 'other' });
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'idempotency_conflict' });
  });

  it('refuses a key of 256 characters', async () => {
    expect((await execute({ path: 'exec/a' }, { 'idempotency-key': 'k'.repeat(256) })).status).toBe(422);
  });

  it('is not used up by a request that is refused', async () => {
    await execute({ path: 'exec/later' }, { 'idempotency-key': 'later' });
    await server.client.register(chain('exec/later', 1));
    const { status, body } = await execute({ path: 'exec/later' }, { 'idempotency-key': 'later' });
    expect({ status, outcome: body.status }).toEqual({ status: 200, outcome: 'started' });
  });
});

describe('dedup window', () => {
  const start = async (key: string, more: object = {}): Promise<JsonObject> =>
    (await execute({ path: 'exec/a', dedup: { key, window_secs: 300 }, ...more })).body;

  it('answers a key inside the window with the execution it started', async () => {
    const one = await start('same');
    expect(await start('same')).toMatchObject({
      execution_id: one.execution_id,
      status: 'duplicate',
      commands_generated: 0,
    });
  });

  it('keeps keys of different parents apart', async () => {
    const [parent] = await Promise.all([execute({ path: 'exec/a' })]);
    const one = await start('scoped');
    const two = await start('scoped', { parent_execution_id: parent.body.execution_id });
    expect(two.status).toBe('started');
    expect(two.execution_id).not.toBe(one.execution_id);
  });

  it('starts again when the window is over', async () => {
    const one = await start('old');
    await sql(
      server.database,
      `UPDATE noetl.subscription_dedup SET seen_at = seen_at - interval '301 s' WHERE dedup_key = 'old'`,
    );
    const two = await start('old');
    expect(two.status).toBe('started');
    expect(two.execution_id).not.toBe(one.execution_id);
  });

  it('32 concurrent requests with one key start one execution', async () => {
    const answers = await Promise.all(Array.from({ length: 32 }, () => start('race')));
    expect(new Set(answers.map(({ execution_id }) => execution_id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 'started')).toHaveLength(1);
  });
});

describe('execute/batch', () => {
  const batch = (list: unknown, headers: Record<string, string> = {}) =>
    post(server.url, '/api/execute/batch', { executions: list }, headers);

  it('answers every item on its own, in order', async () => {
    await execute({ path: 'exec/a', dedup: { key: 'batch' } });
    const { status, body } = await batch([
      { path: 'exec/a' },
      { path: 'exec/a', dedup: { key: 'batch' } },
      { path: 'no/such' },
      7,
    ]);
    const id = expect.stringMatching(/^\d{17,19}$/);
    expect(status).toBe(200);
    expect(body).toEqual({
      count: 4,
      started: 1,
      duplicates: 1,
      failed: 2,
      results: [
        { index: 0, status: 'started', execution_id: id, commands_generated: 1 },
        { index: 1, status: 'duplicate', execution_id: id, commands_generated: 0 },
        { index: 2, status: 'error', commands_generated: 0, error: 'Resource not found: Playbook not found: no/such' },
        { index: 3, status: 'error', commands_generated: 0, error: expect.stringMatching(/object/) },
      ],
    });
  });

  it('starts 1,000 at once', async () => {
    const { body } = await batch(Array.from({ length: 1_000 }, () => ({ path: 'exec/a', execution_pool: 'nobody' })));
    expect(body).toMatchObject({ count: 1_000, started: 1_000, failed: 0 });
    const ids = (body.results as { execution_id: string }[]).map(({ execution_id }) => execution_id);
    expect(new Set(ids).size).toBe(1_000);
  });

  it.each([
    ['no item', [], /empty/],
    [
      '1,001 items',
      Array.from({ length: 1_001 }, () => ({ path: 'exec/a' })),
      'execute batch size 1001 exceeds the 1000 cap',
    ],
    ['no list', 'x', /executions/],
  ])('%s is 422', async (_, list, error) => {
    const { status, body } = await batch(list);
    expect({ status, error: body.error }).toEqual({
      status: 422,
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
  });

  it('starts nothing twice under one Idempotency-Key', async () => {
    const items = [{ path: 'exec/a' }, { path: 'exec/a' }];
    const one = await batch(items, { 'idempotency-key': 'batch' });
    const two = await batch(items, { 'idempotency-key': 'batch' });
    const ids = (answer: typeof one) =>
      (answer.body.results as { execution_id: string }[]).map((item) => item.execution_id);
    expect(new Set(ids(one)).size).toBe(2);
    expect(ids(two)).toEqual(ids(one));
  });
});
