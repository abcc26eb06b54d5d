// The tool with the real engine, on folders of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '@noetl/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDuckdbTool, type DuckdbOptions } from './duckdb.js';
import type { ToolCall, ToolResult } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

let dataDir: string;
let tool: ReturnType<typeof createDuckdbTool>;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'noetl-duckdb-'));
  tool = createDuckdbTool({ dataDir, externalAccess: false });
});

afterAll(async () => {
  await tool.close?.();
  await rm(dataDir, { recursive: true });
});

function run(config: JsonObject, parts: Partial<ToolCall> = {}): Promise<ToolResult> {
  return tool.run(toolCall({ kind: 'duckdb', ...config }, parts));
}

async function data(config: JsonObject, parts: Partial<ToolCall> = {}): Promise<JsonObject> {
  const result = await run({ database: ':memory:', ...config }, parts);
  expect(result).toMatchObject({ status: 'success' });
  return result.data as JsonObject;
}

async function withTool<T>(options: DuckdbOptions, use: (own: typeof tool) => Promise<T>): Promise<T> {
  const own = createDuckdbTool({ dataDir, externalAccess: false, ...options });
  try {
    return await use(own);
  } finally {
    await own.close?.();
  }
}

describe('the result', () => {
  it('is that of the last statement, beside those of all', async () => {
    const command =
      "CREATE TABLE t (id INT); -- it's one\n INSERT INTO t VALUES (1), (2); SELECT * FROM t ORDER BY id;";
    const last = { status: 'success', columns: ['id'], rows: [{ id: 1 }, { id: 2 }], row_count: 2, affected_rows: 0 };
    const none = { status: 'success', message: 'ok', columns: [], rows: [] };
    expect(await data({ command })).toEqual({
      ...last,
      statement_count: 3,
      command_0: { ...none, row_count: -1, affected_rows: 0 },
      command_1: { ...none, row_count: 2, affected_rows: 2 },
      command_2: last,
    });
  });

  it('shows each type as JSON', async () => {
    const query = `SELECT 5::BIGINT small, 9007199254740993 big, sum(1) hugeint, 1.50::DECIMAL(10,2) num, 0.5::DOUBLE f, 'NaN'::DOUBLE nan,
      true b, DATE '2026-01-02' d, TIME '03:04:05' t, TIMESTAMP '2026-01-02 03:04:05.5' ts, TIMESTAMPTZ '2026-01-02 03:04:05+02' tz,
      '\\xFF\\x00'::BLOB bin, [1::BIGINT, NULL] ints, {'a': 1, 'b': ['x']} s, MAP {'k': 1} m, MAP {1: 'v'} n,
      '{"a":[1]}'::JSON j, uuid '00000000-0000-0000-0000-000000000001' u, NULL AS nothing`;
    expect((await data({ query }))['rows']).toEqual([
      {
        small: 5,
        big: '9007199254740993',
        hugeint: 1,
        num: '1.50',
        f: 0.5,
        nan: 'NaN',
        b: true,
        d: '2026-01-02',
        t: '03:04:05',
        ts: '2026-01-02T03:04:05.5',
        tz: '2026-01-02T01:04:05+00:00',
        bin: '/wA=',
        ints: [1, null],
        s: { a: 1, b: ['x'] },
        m: { k: 1 },
        n: [{ key: 1, value: 'v' }],
        j: { a: [1] },
        u: '00000000-0000-0000-0000-000000000001',
        nothing: null,
      },
    ]);
  });

  it('has the rows that a change returns', async () => {
    const commands = ['CREATE TABLE t (id INT)', 'INSERT INTO t VALUES (7) RETURNING id'];
    expect(await data({ commands })).toMatchObject({ columns: ['id'], rows: [{ id: 7 }] });
  });

  it('is refused when it has no end', async () => {
    await withTool({ limits: { maxRows: 5_000, maxBytes: 1_000_000 } }, async (own) => {
      await expect(
        own.run(toolCall({ database: ':memory:', query: 'SELECT * FROM range(1000000000)' })),
      ).rejects.toMatchObject({
        info: { code: 'RESULT_TOO_LARGE' },
      });
    });
  });
});

describe('the SQL', () => {
  it('takes parameters by position and by name', async () => {
    const query = 'SELECT $1 + 1 AS i, $2 AS t, $3 AS l, $4::JSON AS o';
    expect((await data({ query, params: [1, "it's", [1, 2], { a: 1 }] }))['rows']).toEqual([
      { i: 2, t: "it's", l: [1, 2], o: { a: 1 } },
    ]);
    expect((await data({ query: 'SELECT $name AS name', params: { name: 'ann' } }))['rows']).toEqual([{ name: 'ann' }]);
  });

  it.each([
    [{}, 'command is required'],
    [{ command: '-- nothing' }, 'command holds no SQL statement'],
    [{ command: 'SELECT 1; SELECT $1', params: [1] }, 'params go with one statement, and command holds 2'],
  ] as [JsonObject, string][])('is checked: %j', async (config, message) => {
    await expect(run({ database: ':memory:', ...config })).rejects.toThrow(message);
  });

  it.each([
    ['SELEC 1', 'schema'],
    ['SELECT * FROM nowhere', 'schema'],
    ["SELECT 'x'::INT", 'client_error'],
    ['CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (1)', 'db_constraint'],
  ])('%s fails as %s', async (command, kind) => {
    await expect(run({ database: ':memory:', command })).rejects.toMatchObject({
      message: expect.stringMatching(/^Database error: (Query|Batch execute) failed.*: [A-Z]\w+ Error: /),
      info: { kind, retryable: false, source: 'duckdb' },
    });
  });

  it('must not leave a transaction open', async () => {
    await expect(run({ database: ':memory:', command: 'BEGIN; CREATE TABLE t (id INT)' })).rejects.toMatchObject({
      info: { code: 'TRANSACTION_LEFT_OPEN' },
    });
  });
});

describe('access to the outside', () => {
  it.each([
    "SELECT * FROM read_csv('/etc/passwd')",
    "COPY (SELECT 1) TO '/tmp/stolen.csv'",
    "ATTACH '/tmp/other.duckdb'",
  ])('is refused: %s', async (query) => {
    await expect(run({ query })).rejects.toMatchObject({ info: { kind: 'auth', code: 'DUCKDB_PERMISSION' } });
  });

  it('cannot be switched on by a step', async () => {
    await expect(run({ query: 'SET enable_external_access = true' })).rejects.toThrow('Cannot enable external access');
  });

  it('is there when the operator allows it', async () => {
    const file = path.join(dataDir, 'rows.csv');
    await writeFile(file, 'id\n1\n2\n');
    await withTool({ externalAccess: true }, async (own) => {
      const result = await own.run(
        toolCall({ database: ':memory:', query: `SELECT count(*) AS n FROM read_csv('${file}')` }),
      );
      expect(result.data).toMatchObject({ rows: [{ n: 2 }] });
    });
  });

  it('a database lies in the data folder or among temporary files', async () => {
    expect(await data({ database: 'shop.duckdb', query: 'SELECT 1 AS a' })).toMatchObject({ rows: [{ a: 1 }] });
    expect(existsSync(path.join(dataDir, 'shop.duckdb'))).toBe(true);
    await expect(run({ database: '/etc/x.duckdb', query: 'SELECT 1' })).rejects.toThrow(
      "outside the worker's data folder",
    );
    await symlink('/etc', path.join(dataDir, 'link'));
    await expect(run({ database: 'link/x.duckdb', query: 'SELECT 1' })).rejects.toThrow(
      "outside the worker's data folder",
    );
  });
});

/** Opens a database, says so, and lets it go when its input ends. */
const HOLDER = `
  import { DuckDBInstance } from '@duckdb/node-api';
  const instance = await DuckDBInstance.create(process.argv[1]);
  const connection = await instance.connect();
  console.log('open');
  for await (const _ of process.stdin);
  await connection.run('INSERT INTO turns VALUES (1)');
  connection.closeSync();
  instance.closeSync();
`;

describe('the database of an execution', () => {
  const of = (executionId: string) => ({ executionId });

  it('is shared by its steps, and by nobody else', async () => {
    await run({ command: 'CREATE TABLE mine AS SELECT 42 AS answer' }, of('101'));
    expect((await run({ query: 'SELECT * FROM mine' }, of('101'))).data).toMatchObject({ rows: [{ answer: 42 }] });
    await expect(run({ query: 'SELECT * FROM mine' }, of('102'))).rejects.toThrow('does not exist');
  });

  it('serves steps that run at once, also those of another worker in this process', async () => {
    await run({ command: 'CREATE TABLE hits (n INT)' }, of('103'));
    await withTool({}, async (other) => {
      const insert = (n: number) =>
        (n % 2 === 0 ? tool : other).run(toolCall({ command: `INSERT INTO hits VALUES (${n})` }, of('103')));
      await Promise.all(Array.from({ length: 20 }, (_, n) => insert(n)));
    });
    expect((await run({ query: 'SELECT count(*) AS n FROM hits' }, of('103'))).data).toMatchObject({
      rows: [{ n: 20 }],
    });
  });

  it('is not reached by its path', async () => {
    await expect(run({ database: 'executions/101.duckdb', query: 'SELECT 1' })).rejects.toThrow(
      'belongs to an execution',
    );
  });

  it('waits for a worker of another process that has it open', async () => {
    const file = path.join(dataDir, 'executions', '104.duckdb');
    await run({ command: 'CREATE TABLE turns (n INT)' }, of('104'));
    await withTool({}, (own) => own.close?.() ?? Promise.resolve());
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, file], {
      cwd: import.meta.dirname,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    const waiting = run({ query: 'SELECT count(*) AS n FROM turns' }, of('104'));
    holder.stdin.end();
    expect((await waiting).data).toMatchObject({ rows: [{ n: 1 }] });
  });

  it('is deleted a while after its last use', async () => {
    const executions = path.join(dataDir, 'swept', 'executions');
    await mkdir(executions, { recursive: true });
    const old = new Date(Date.now() - 3_600_000);
    for (const name of ['1.duckdb', '1.duckdb.wal', '2.duckdb']) {
      await writeFile(path.join(executions, name), '');
      if (name !== '2.duckdb') await utimes(path.join(executions, name), old, old);
    }
    await withTool({ dataDir: path.join(dataDir, 'swept'), keepMs: 1_800_000 }, async (own) => {
      await own.run(toolCall({ query: 'SELECT 1' }, of('3')));
      expect((await readdir(executions)).sort()).toEqual(['2.duckdb', '3.duckdb']);
    });
  });
});

describe('stopping', () => {
  const FOREVER = 'SELECT count(*) FROM range(10000000000) a, range(1000) b';

  it('an abort interrupts the query', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const running = run({ database: ':memory:', query: FOREVER }, { signal: stop.signal });
    setTimeout(() => stop.abort(reason), 50);
    await expect(running).rejects.toBe(reason);
  });

  it('the time-out interrupts the query', async () => {
    expect(await run({ database: ':memory:', query: FOREVER, timeout: 0.2 })).toMatchObject({
      status: 'timeout',
      error_info: { kind: 'timeout', retryable: true, code: 'DUCKDB_TIMEOUT' },
    });
  });
});
