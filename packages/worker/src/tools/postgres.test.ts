// The tool against a real server.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { JsonObject } from '@noetl/core';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshDatabase, type TestDatabase } from '../../../../test/support/postgres.js';
import { createPostgresTool } from './postgres.js';
import type { ToolCall, ToolResult } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

let database: TestDatabase;
let admin: pg.Client;
const tool = createPostgresTool();

beforeAll(async () => {
  database = await freshDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
});

afterAll(async () => {
  await tool.close?.();
  await admin.end();
  await database.drop();
});

function run(config: JsonObject, parts: Partial<ToolCall> = {}): Promise<ToolResult> {
  return tool.run(toolCall({ kind: 'postgres', connection_string: database.url, ...config }, parts));
}

async function data(config: JsonObject, parts: Partial<ToolCall> = {}): Promise<JsonObject> {
  const result = await run(config, parts);
  expect(result).toMatchObject({ status: 'success' });
  return result.data as JsonObject;
}

/** Resolves when some session of the database is running this text. */
async function isRunning(text: string): Promise<number> {
  for (;;) {
    const { rows } = await admin.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()",
      [`%${text}%`],
    );
    if (rows[0] !== undefined) return rows[0].pid;
  }
}

async function isIdle(pid: number): Promise<boolean> {
  const { rows } = await admin.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'", [pid]);
  return rows.length === 0;
}

describe('the result', () => {
  it('is that of the last statement, beside those of all', async () => {
    const command =
      "CREATE TABLE shape (id int, name text); INSERT INTO shape VALUES (1, 'a'), (2, 'b'); SELECT * FROM shape";
    const last = {
      status: 'success',
      columns: ['id', 'name'],
      rows: [
        { id: 1, name: 'a' },
        { id: 2, name: 'b' },
      ],
      row_count: 2,
      affected_rows: 0,
    };
    const none = { status: 'success', message: 'ok', columns: [], rows: [] };
    expect(await data({ command })).toEqual({
      ...last,
      statement_count: 3,
      command_0: { ...none, row_count: -1, affected_rows: 0 },
      command_1: { ...none, row_count: 2, affected_rows: 2 },
      command_2: last,
    });
  });

  it('has the rows that a change returns', async () => {
    await data({ command: 'CREATE TABLE changed (id int)' });
    expect(await data({ query: 'INSERT INTO changed VALUES (7) RETURNING id' })).toMatchObject({
      rows: [{ id: 7 }],
      row_count: 1,
      affected_rows: 1,
    });
  });

  it('counts the rows that a query writes into a new table', async () => {
    const result = await data({ query: 'CREATE TABLE copied AS SELECT generate_series(1, 3) AS n' });
    expect(result).toMatchObject({ columns: [], row_count: 3, affected_rows: 3 });
  });

  it('names the columns of an empty set', async () => {
    expect(await data({ query: '-- none\nSELECT 1 AS a WHERE false' })).toMatchObject({
      columns: ['a'],
      rows: [],
      row_count: 0,
    });
  });

  it('has rows as lists when objects are not wanted', async () => {
    expect(await data({ query: 'SELECT 1 AS a, 2 AS b', as_objects: false })).toMatchObject({ rows: [[1, 2]] });
  });

  it('keeps both of two columns with one name', async () => {
    expect(await data({ query: 'SELECT 1 AS id, 2 AS id' })).toMatchObject({
      columns: ['id', 'id_2'],
      rows: [{ id: 1, id_2: 2 }],
    });
  });

  it('holds the rows of a claim once', async () => {
    const claim = await data({ command: 'SELECT 1 AS id' }, { meta: { cursor: { phase: 'claim' } } });
    expect(claim).not.toHaveProperty('command_0');
  });

  it('repeats no more than 100 statements', async () => {
    const result = await data({ commands: Array.from({ length: 101 }, (_, index) => `SELECT ${index} AS n`) });
    expect(result).toMatchObject({ statement_count: 101, rows: [{ n: 100 }] });
    expect(result).not.toHaveProperty('command_0');
  });

  it('shows each type as JSON', async () => {
    const query = `SELECT 1::int2 i2, 9007199254740993::int8 big, 5::int8 small, 0.1::float8 f, 'NaN'::float8 nan, 1.50::numeric num, true b,
      '{"a":[1,12345678901234567890]}'::jsonb j, timestamptz '2026-01-02 03:04:05.5+02' tz, timestamp '2026-01-02 03:04:05' ts,
      timestamp 'infinity' inf, date '2026-01-02' d, time '03:04' t, '00000000-0000-0000-0000-000000000001'::uuid u, '\\xff00'::bytea bin,
      ARRAY[1,NULL,3] ints, ARRAY[['a,"b','c'],['NULL','']] texts, ARRAY['{"x":1}'::jsonb] docs, '{1.50}'::numeric[] nums,
      int4range(1,3) r, interval '1 day' iv, NULL::text n`;
    expect((await data({ query }))['rows']).toEqual([
      {
        i2: 1,
        big: '9007199254740993',
        small: 5,
        f: 0.1,
        nan: 'NaN',
        num: '1.50',
        b: true,
        j: { a: [1, 12345678901234567890n] },
        tz: '2026-01-02T01:04:05.5+00:00',
        ts: '2026-01-02T03:04:05',
        inf: 'infinity',
        d: '2026-01-02',
        t: '03:04:00',
        u: '00000000-0000-0000-0000-000000000001',
        bin: '/wA=',
        ints: [1, null, 3],
        texts: [
          ['a,"b', 'c'],
          ['NULL', ''],
        ],
        docs: [{ x: 1 }],
        nums: ['1.50'],
        r: '[1,3)',
        iv: '1 day',
        n: null,
      },
    ]);
  });

  it('leaves a document as text that is nested too deeply for a result', async () => {
    const query = "SELECT (repeat('[', 505) || repeat(']', 505))::jsonb AS deep";
    expect(await data({ query })).toMatchObject({ rows: [{ deep: expect.stringMatching(/^\[{505}\]{505}$/) }] });
  });
});

describe('the SQL', () => {
  it('takes parameters', async () => {
    const query =
      'SELECT $1::int AS i, $2::text AS t, $3::jsonb AS o, $4::int[] AS l, $5::jsonb AS docs, $6::text AS n, $7::int8 AS big';
    const params = [1, "it's", { a: 1 }, [1, 2], [{ b: 2 }], null, 9007199254740993n];
    expect((await data({ query, params }))['rows']).toEqual([
      { i: 1, t: "it's", o: { a: 1 }, l: [1, 2], docs: [{ b: 2 }], n: null, big: '9007199254740993' },
    ]);
  });

  it.each([
    [{}, 'command is required'],
    [{ command: '-- nothing' }, 'command holds no SQL statement'],
    [{ command: { a: 1 } }, 'command must be SQL text'],
    [{ command: 'SELECT 1; SELECT $1', params: [1] }, 'params go with one statement, and command holds 2'],
    [{ command: 'SELECT 1', params: { a: 1 } }, 'params must be a list'],
    [{ command: 'SELECT 1', pool: { max_size: 0 } }, 'pool.max_size must be a number above 0'],
  ] as [JsonObject, string][])('is checked: %j', async (config, message) => {
    await expect(run(config)).rejects.toThrow(message);
  });

  it('may be encoded, and may be a list', async () => {
    const command_b64 = Buffer.from("SELECT 'ä' AS a").toString('base64');
    expect(await data({ command_b64 })).toMatchObject({ rows: [{ a: 'ä' }] });
    expect(await data({ commands: ['SELECT 1 -- one', 'SELECT 2 AS b'] })).toMatchObject({
      statement_count: 2,
      rows: [{ b: 2 }],
    });
  });

  it('finds tables in the schema, also one with an odd name', async () => {
    await data({ command: 'CREATE SCHEMA "odd; name"; CREATE TABLE "odd; name".here (id int)' });
    expect(await data({ query: 'SELECT * FROM here', schema: 'odd; name' })).toMatchObject({ row_count: 0 });
    await expect(run({ query: 'SELECT * FROM here' })).rejects.toThrow('does not exist');
  });
});

describe('transactions', () => {
  it('statements take effect together or not at all', async () => {
    await expect(run({ command: 'CREATE TABLE half (id int); SELECT 1/0' })).rejects.toMatchObject({
      message: expect.stringContaining('Batch execute failed in statement 2: ERROR: division by zero (SQLSTATE 22012)'),
      info: { kind: 'client_error', pg_code: '22012' },
    });
    await expect(run({ query: 'SELECT * FROM half' })).rejects.toThrow('does not exist');
  });

  it('text with transaction control decides for itself', async () => {
    const command =
      'CREATE TABLE own (id int); BEGIN; INSERT INTO own VALUES (1); COMMIT; BEGIN; INSERT INTO own VALUES (2); ROLLBACK; SELECT 1/0';
    await expect(run({ command })).rejects.toThrow('failed in statement 8: ERROR: division by zero');
    expect(await data({ query: 'SELECT id FROM own' })).toMatchObject({ rows: [{ id: 1 }] });
  });

  it('a transaction that is left open fails the step', async () => {
    await data({ command: 'CREATE TABLE open_end (id int)' });
    await expect(run({ command: 'BEGIN; INSERT INTO open_end VALUES (1)' })).rejects.toMatchObject({
      info: { code: 'TRANSACTION_LEFT_OPEN' },
    });
    expect(await data({ query: 'SELECT * FROM open_end' })).toMatchObject({ row_count: 0 });
  });

  it('a statement that cannot run in a transaction runs alone', async () => {
    expect(await data({ command: 'VACUUM' })).toMatchObject({ statement_count: 1 });
  });
});

describe('the session', () => {
  it('is used again, without what the step before left in it', async () => {
    const own = createPostgresTool();
    const ask = (query: string, max = 1) =>
      own.run(toolCall({ connection_string: database.url, query, pool: { max_size: max } }));
    const first = await ask(
      "SET application_name TO 'mine'; SELECT pg_advisory_lock(1); CREATE TEMP TABLE t (id int); SELECT pg_backend_pid() AS pid",
    );
    const second = await ask(
      "SELECT pg_backend_pid() AS pid, current_setting('application_name') AS app, to_regclass('t') AS t, (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS locks",
    );
    const { pid } = ((first.data as JsonObject)['rows'] as JsonObject[])[0] as JsonObject;
    expect(second.data).toMatchObject({ rows: [{ pid, app: 'noetl-worker', t: null, locks: 0 }] });
    await own.close?.();
  });

  it('is replaced when the server has closed it', async () => {
    const own = createPostgresTool();
    const ask = () =>
      own.run(
        toolCall({ connection_string: database.url, query: 'SELECT pg_backend_pid() AS pid', pool: { max_size: 1 } }),
      );
    const { pid } = (((await ask()).data as JsonObject)['rows'] as JsonObject[])[0] as JsonObject;
    await admin.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
    expect(await ask()).toMatchObject({ status: 'success' });
    await own.close?.();
  });

  it('no more of them than the step allows', async () => {
    const ask = () => run({ query: 'SELECT pg_backend_pid() AS pid, pg_sleep(0.01)', pool: { max_size: 2 } });
    const pids = (await Promise.all(Array.from({ length: 8 }, ask))).map(
      ({ data: found }) => ((found as JsonObject)['rows'] as JsonObject[])[0]?.['pid'],
    );
    expect(new Set(pids).size).toBeLessThanOrEqual(2);
  });

  it('a step that waits for one can be aborted, and the next one gets its turn', async () => {
    const own = createPostgresTool();
    const ask = (query: string, signal = new AbortController().signal) =>
      own.run(toolCall({ connection_string: database.url, query, pool: { max_size: 1 } }, { signal }));
    const first = ask('SELECT pg_sleep(600) /* holds */').catch(() => undefined);
    const pid = await isRunning('/* holds */');
    const stop = new AbortController();
    const second = ask('SELECT 2', stop.signal);
    const third = ask('SELECT 3 AS n');
    stop.abort(new Error('cancelled'));
    await expect(second).rejects.toThrow('cancelled');
    await admin.query('SELECT pg_cancel_backend($1)', [pid]);
    expect(await third).toMatchObject({ data: { rows: [{ n: 3 }] } });
    await first;
    await own.close?.();
  });

  it('ends when the tool is closed', async () => {
    const own = createPostgresTool();
    const url = new URL(database.url);
    url.searchParams.set('sslmode', 'disable');
    const result = await own.run(toolCall({ connection_string: url.href, query: 'SELECT pg_backend_pid() AS pid' }));
    const { pid } = ((result.data as JsonObject)['rows'] as JsonObject[])[0] as JsonObject;
    await own.close?.();
    for (;;) {
      const { rows } = await admin.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid]);
      if (rows.length === 0) break;
    }
  });
});

describe('failures', () => {
  it('say what the server says', async () => {
    await data({ command: "CREATE TABLE people (email text PRIMARY KEY); INSERT INTO people VALUES ('a@b.c')" });
    await expect(run({ query: "INSERT INTO people VALUES ('a@b.c')" })).rejects.toMatchObject({
      message:
        'Database error: Query failed: ERROR: duplicate key value violates unique constraint "people_pkey" (SQLSTATE 23505) | DETAIL: Key (email)=(a@b.c) already exists.',
      info: { kind: 'db_constraint', retryable: false, pg_code: '23505', details: { constraint: 'people_pkey' } },
    });
  });

  it('a syntax error is the author’s', async () => {
    await expect(run({ query: 'SELEC 1' })).rejects.toMatchObject({ info: { kind: 'schema', code: 'PG_42601' } });
  });

  it('a wrong password is not shown', async () => {
    const url = new URL(database.url);
    const { hostname: host, port, username: user } = url;
    const config = { query: 'SELECT 1', host, port, user, database: 'no_such_database', password: 'top-secret-word' };
    const error: unknown = await tool.run(toolCall(config)).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ info: { retryable: false, pg_code: expect.any(String) } });
    expect(JSON.stringify([String(error), (error as { info: unknown }).info])).not.toContain('top-secret-word');
  });

  it('a server that is not there can be tried again', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as { port: number };
    server.close();
    await once(server, 'close');
    const config = { query: 'SELECT 1', host: '127.0.0.1', port: address.port, user: 'u', password: 'p' };
    await expect(tool.run(toolCall(config))).rejects.toMatchObject({
      message: expect.stringContaining(`cannot connect to 127.0.0.1:${address.port}`),
      info: { kind: 'connection', retryable: true, code: 'CONN_REFUSED' },
    });
  });

  it('a connection that breaks in the middle can be tried again', async () => {
    const failed = expect(run({ query: 'SELECT pg_sleep(60) /* broken */' })).rejects.toMatchObject({
      info: { kind: 'db_connection', retryable: true },
    });
    await admin.query('SELECT pg_terminate_backend($1)', [await isRunning('/* broken */')]);
    await failed;
  });

  it('sslmode require needs a server with encryption', async () => {
    await expect(run({ query: 'SELECT 1', sslmode: 'require' })).rejects.toThrow('does not support SSL');
  });
});

describe('stopping', () => {
  it('an abort cancels the query on the server', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const running = run({ query: 'SELECT pg_sleep(600) /* aborted */' }, { signal: stop.signal });
    const pid = await isRunning('/* aborted */');
    stop.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(await isIdle(pid)).toBe(true);
  });

  it('the time-out cancels the query on the server', async () => {
    const running = run({ query: 'SELECT pg_sleep(600) /* late */', timeout: 1 });
    const pid = await isRunning('/* late */');
    expect(await running).toMatchObject({
      status: 'timeout',
      error: 'Execution timed out after 1 seconds',
      error_info: { kind: 'timeout', retryable: true, code: 'PG_TIMEOUT' },
    });
    expect(await isIdle(pid)).toBe(true);
  });

  it('a result without end is refused and undone', async () => {
    const own = createPostgresTool({ limits: { maxRows: 100, maxBytes: 1_000_000 } });
    await data({ command: 'CREATE TABLE many (id int)' });
    // The server sends some rows and waits: the cancellation is in time.
    const command = `INSERT INTO many VALUES (1);
      SELECT repeat('x', 1000), pg_sleep(CASE WHEN n > 200 THEN 60 ELSE 0 END) FROM generate_series(1, 300) n`;
    await expect(own.run(toolCall({ connection_string: database.url, command }))).rejects.toMatchObject({
      message: expect.stringContaining('larger than 100 rows'),
      info: { code: 'RESULT_TOO_LARGE', retryable: false },
    });
    expect(await data({ query: 'SELECT count(*) AS n FROM many' })).toMatchObject({ rows: [{ n: 0 }] });
    await own.close?.();
  });
});
