// The result store: what is put can be read back exactly, once per content, and not beyond its time.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Id, shardFor } from '../../packages/core/src/index.js';
import { sweepResults } from '../../packages/server/src/results/index.js';
import type { TestDatabase } from '../support/postgres.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { ask, get } from './support/ask.js';
import { sql } from './support/sql.js';

let server: TestServer;
let executions = 325_000_000_000_000_000n;
const newExecution = (): string => String(executions++);

beforeAll(async () => {
  server = await startTestServer();
});

const put = (execution: string, body: object, prefix = '/api/result') =>
  ask(server.url, 'PUT', `${prefix}/${execution}`, { json: body });
const resolve = (ref: unknown) => get(server.url, `/api/result/resolve?ref=${encodeURIComponent(String(ref))}`);
const remove = (path: string) => ask(server.url, 'DELETE', path);

describe('PUT /api/result/{execution_id}', () => {
  it('answers with the reference, the size and the digest of the compact JSON', async () => {
    const execution = newExecution();
    const { status, body } = await put(execution, { name: 'fetch', data: { b: 1, a: [1, 2] }, source_step: 'fetch' });
    const text = '{"b":1,"a":[1,2]}';
    expect(status).toBe(200);
    expect(body).toEqual({
      ref: expect.stringMatching(new RegExp(`^noetl://execution/${execution}/result/fetch/\\d+$`)),
      store: 'db',
      scope: 'execution',
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
      expires_at: null,
    });
  });

  it.each([
    ['no name', { data: 1 }],
    ['an empty name', { name: '', data: 1 }],
    ['a name that is no text', { name: 7, data: 1 }],
    ['a name that is too long', { name: 'n'.repeat(501), data: 1 }],
    ['a scope that is too long', { name: 'n', scope: 's'.repeat(65), data: 1 }],
    ['no data', { name: 'fetch' }],
    ['a ttl that nobody understands', { name: 'fetch', data: 1, ttl: 'soon' }],
    ['a ttl of nothing', { name: 'fetch', data: 1, ttl: 0 }],
  ])('refuses %s', async (_, body) => {
    const answer = await put(newExecution(), body);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ status: 422, error: expect.any(String) });
  });

  it('refuses an execution that is no id', async () => {
    expect((await put('first', { name: 'fetch', data: 1 })).status).toBe(400);
  });

  it('takes more than other routes, up to 64 MiB', async () => {
    const execution = newExecution();
    const data = 'x'.repeat(3 * 1024 * 1024);
    const { status, body } = await put(execution, { name: 'big', data });
    expect(status).toBe(200);
    expect((await resolve(body.ref)).text).toBe(JSON.stringify(data));
    const tooLarge = await ask(server.url, 'PUT', `/api/result/${execution}`, {
      headers: { 'content-type': 'application/json' },
      text: Buffer.alloc(64 * 1024 * 1024 + 1, 'x'),
    }).catch((error: NodeJS.ErrnoException) => ({ status: error.code }));
    // The server may hang up before all of it is sent.
    expect([413, 'EPIPE', 'ECONNRESET']).toContain(tooLarge.status);
  });

  it('stores the same content under the same name once', async () => {
    const execution = newExecution();
    const bodies = await Promise.all(
      Array.from({ length: 8 }, () => put(execution, { name: 'fetch', data: { rows: [1, 2, 3] } })),
    );
    expect(new Set(bodies.map(({ body }) => body.ref)).size).toBe(1);
    const rows = await sql(server.database, 'SELECT 1 FROM noetl.result_store WHERE execution_id = $1', [execution]);
    expect(rows).toHaveLength(1);
  });

  it('keeps other content, another name and another execution apart', async () => {
    const execution = newExecution();
    const refs = await Promise.all(
      [
        put(execution, { name: 'fetch', data: 1 }),
        put(execution, { name: 'fetch', data: 2 }),
        put(execution, { name: 'other', data: 1 }),
        put(newExecution(), { name: 'fetch', data: 1 }),
      ].map(async (answer) => (await answer).body.ref),
    );
    expect(new Set(refs).size).toBe(4);
  });
});

describe('GET /api/result/resolve', () => {
  it.each<[string, string]>([
    ['null', 'null'],
    ['text', '"ü \\u0000 \\ud800"'],
    ['an id beyond 2^53', '{"id":325517391836164097}'],
    ['keys in their order', '{"zebra":1,"ant":2,"zebra2":{"b":1,"a":2}}'],
    ['a list', '[1,[2,{"x":null}]]'],
  ])('answers %s exactly as it was put', async (_, data) => {
    const answer = await ask(server.url, 'PUT', `/api/result/${newExecution()}`, {
      headers: { 'content-type': 'application/json' },
      text: `{"name":"n","data":${data}}`,
    });
    const resolved = await resolve(answer.body.ref);
    expect(resolved.status).toBe(200);
    expect(resolved.headers['content-type']).toContain('application/json');
    expect(resolved.text).toBe(data);
  });

  it('finds the longest name there can be', async () => {
    const { body } = await put(newExecution(), { name: '🦉'.repeat(250), scope: 'é'.repeat(64), data: 'found' });
    expect((await resolve(body.ref)).text).toBe('"found"');
  });

  it('finds a name with slashes and spaces', async () => {
    const { body } = await put(newExecution(), { name: 'jobs/daily run/7', data: 'found' });
    expect((await resolve(body.ref)).text).toBe('"found"');
  });

  it.each(['', 'fetch', 'noetl://execution/x/result/fetch/1', 'noetl://execution/1/result/1'])(
    'refuses %j',
    async (ref) => {
      const answer = await resolve(ref);
      expect(answer.status).toBe(400);
      expect(answer.body.error).toEqual(expect.any(String));
    },
  );

  it('does not find what was never there, nor what belongs to another execution', async () => {
    const { body } = await put(newExecution(), { name: 'fetch', data: 1 });
    const stolen = String(body.ref).replace(/execution\/\d+/, `execution/${newExecution()}`);
    for (const ref of ['noetl://execution/1/result/fetch/2', stolen]) {
      expect(await resolve(ref)).toMatchObject({ status: 404, body: { error: 'result not found' } });
    }
  });
});

describe('the time of a result', () => {
  const lifetime = async (body: object) => {
    const before = Date.now();
    const answer = await put(newExecution(), { name: 'n', data: 1, ...body });
    return answer.body.expires_at === null ? null : Date.parse(String(answer.body.expires_at)) - before;
  };

  it.each<[Record<string, unknown>, number]>([
    [{ ttl: '30s' }, 30],
    [{ ttl: '15m' }, 900],
    [{ ttl: '1h' }, 3_600],
    [{ ttl: '2d' }, 172_800],
    [{ ttl: '1w' }, 604_800],
    [{ ttl: '1y' }, 31_536_000],
    [{ ttl: 90 }, 90],
    [{ ttl: '90' }, 90],
    [{ ttl_seconds: 90 }, 90],
  ])('%j is %i seconds', async (body, seconds) => {
    const ms = await lifetime(body);
    // Rounded to the half of the unit below: clocks of database and test may differ by milliseconds.
    expect(Math.round(Number(ms) / 15_000)).toBe(seconds / 15);
  });

  it.each([
    { ttl: 'forever' },
    { ttl: 'permanent' },
    { ttl: -1 },
    { ttl: null },
    {},
    { ttl: '1h', scope: 'permanent' },
  ])('%j is for ever', async (body) => expect(await lifetime(body)).toBeNull());

  it('after it, the result is gone for every route, and is deleted by the next sweep', async () => {
    const execution = newExecution();
    const { body } = await put(execution, { name: 'short', data: 'soon gone', ttl: '1h' });
    const kept = await put(execution, { name: 'long', data: 'stays' });
    await sql(
      server.database,
      `UPDATE noetl.result_store SET expires_at = now() WHERE name = 'short' AND execution_id = $1`,
      [execution],
    );
    expect((await resolve(body.ref)).status).toBe(404);
    expect((await get(server.url, `/api/result/${execution}/short`)).status).toBe(404);
    expect((await get(server.url, `/api/result/${execution}/list`)).body).toMatchObject({ count: 1 });

    const pool = new pg.Pool({ connectionString: server.database.url });
    const shard = { index: 0, name: 'shard-0', pool, writer: pool };
    await sweepResults({ cluster: pool, shards: [shard], forExecution: () => shard, close: async () => undefined });
    await pool.end();
    const rows = await sql<{ name: string }>(
      server.database,
      'SELECT name FROM noetl.result_store WHERE execution_id = $1',
      [execution],
    );
    expect(rows).toEqual([{ name: 'long' }]);
    expect((await resolve(kept.body.ref)).text).toBe('"stays"');
  });

  it('the same content again lives as long as the longer of the two', async () => {
    const execution = newExecution();
    await put(execution, { name: 'n', data: 1, ttl: '1h' });
    const longer = await put(execution, { name: 'n', data: 1, ttl: '2h' });
    const shorter = await put(execution, { name: 'n', data: 1, ttl: '1m' });
    expect(shorter.body.expires_at).toBe(longer.body.expires_at);
    expect((await put(execution, { name: 'n', data: 1 })).body.expires_at).toBeNull();
  });
});

describe('results of an execution', () => {
  const execution = newExecution();
  beforeAll(async () => {
    await put(execution, { name: 'fetch', data: { page: 1 }, source_step: 'fetch' });
    await put(execution, { name: 'fetch', data: { page: 2 }, source_step: 'fetch' });
    await put(execution, { name: 'report', data: 'r', source_step: 'summarise', scope: 'workflow' });
  });

  it('are listed, oldest first', async () => {
    const { body } = await get(server.url, `/api/result/${execution}/list`);
    expect(body).toMatchObject({
      execution_id: execution,
      count: 3,
      refs: [{ name: 'fetch' }, { name: 'fetch' }, { name: 'report', scope: 'workflow', store: 'db', bytes: 3 }],
    });
  });

  it.each([
    ['scope=workflow', 1],
    ['step_name=fetch', 2],
    ['source_step=summarise', 1],
    ['step_name=nobody', 0],
  ])('are filtered by %s', async (query, count) => {
    expect((await get(server.url, `/api/result/${execution}/list?${query}`)).body.count).toBe(count);
  });

  it('are found by step: the newest', async () => {
    expect((await get(server.url, `/api/result/${execution}/fetch`)).text).toBe('{"page":2}');
    expect((await get(server.url, `/api/result/${execution}/summarise`)).text).toBe('"r"');
    expect((await get(server.url, `/api/result/${execution}/nobody`)).status).toBe(404);
  });

  it('say what is known about them without their data', async () => {
    const { body } = await get(server.url, `/api/result/${execution}/fetch?resolve=false`);
    expect(Object.keys(body)).toEqual(
      expect.arrayContaining([
        'ref',
        'store',
        'scope',
        'name',
        'expires_at',
        'bytes',
        'sha256',
        'preview',
        'extracted',
        'correlation',
      ]),
    );
    expect((await resolve(body.ref)).text).toBe('{"page":2}');
  });
});

describe('DELETE /api/result/{execution_id}', () => {
  const filled = async (): Promise<string> => {
    const execution = newExecution();
    for (const scope of ['step', 'execution', 'workflow', 'permanent']) {
      await put(execution, { name: 'n', source_step: 's', data: scope, scope });
    }
    return execution;
  };
  const scopesLeft = async (execution: string) =>
    (await get(server.url, `/api/result/${execution}/list`)).body.refs as { scope: string }[];

  it.each([
    ['', 'execution', ['workflow', 'permanent']],
    ['?scope=workflow', 'workflow', ['permanent']],
  ])('with %j deletes scope %s and the narrower ones', async (query, scope, left) => {
    const execution = await filled();
    const { body } = await remove(`/api/result/${execution}${query}`);
    expect(body).toEqual({ execution_id: execution, deleted: 4 - left.length, scope });
    expect((await scopesLeft(execution)).map((ref) => ref.scope)).toEqual(left);
  });

  it.each(['permanent', 'step', 'everything'])('refuses scope %s', async (scope) => {
    const execution = await filled();
    expect((await remove(`/api/result/${execution}?scope=${scope}`)).status).toBe(400);
    expect(await scopesLeft(execution)).toHaveLength(4);
  });

  it('deletes what one step kept for itself', async () => {
    const execution = await filled();
    expect((await remove(`/api/result/${execution}/step/s`)).body).toEqual({
      execution_id: execution,
      deleted: 1,
      scope: 'step',
    });
  });
});

it('counts what is stored', async () => {
  const own = await startTestServer();
  for (const scope of ['execution', 'execution', 'permanent']) {
    await ask(own.url, 'PUT', `/api/result/${newExecution()}`, { json: { name: 'n', data: 'four', scope } });
  }
  expect((await get(own.url, '/api/result/stats')).body).toEqual({
    results: 3,
    bytes: 18,
    scopes: { execution: { results: 2, bytes: 12 }, permanent: { results: 1, bytes: 6 } },
  });
});

it('answers under its older name too', async () => {
  const execution = newExecution();
  const { body } = await put(execution, { name: 'n', data: 'old', ttl_seconds: 60 }, '/api/temp');
  const ref = encodeURIComponent(String(body.ref));
  expect((await get(server.url, `/api/temp/resolve?ref=${ref}`)).text).toBe('"old"');
  expect((await get(server.url, `/api/temp/${execution}/list?source_step=n`)).body.count).toBe(1);
});

it('lives on the shard of its execution', async () => {
  const databases = await Promise.all([ownDatabase(), ownDatabase()]);
  const dsn = ({ url, name }: TestDatabase): string => {
    const { hostname, port, username, password } = new URL(url);
    return `host=${hostname};port=${port};user=${username};password=${decodeURIComponent(password)};database=${name}`;
  };
  const sharded = await startTestServer({
    database: databases[0],
    env: { NOETL_SHARDS: databases.map(dsn).join(',') },
  });
  const ids = Array.from({ length: 12 }, newExecution);
  for (const id of ids) {
    const { ref } = await sharded.client.putResult(id, { name: 'n', data: id });
    expect(await sharded.client.resolveResult(ref)).toBe(id);
  }
  for (const [index, database] of databases.entries()) {
    const rows = await sql<{ id: string }>(database, 'SELECT execution_id AS id FROM noetl.result_store ORDER BY 1');
    expect(rows.map(({ id }) => id)).toEqual(ids.filter((id) => shardFor(id as Id, 2) === index).sort());
  }
});
