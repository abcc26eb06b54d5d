// A cursor loop over a table of Postgres, with two workers that claim and process its rows side by side.
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { playbookText, run } from '../support/run.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';

let server: TestServer;
let shop: pg.Client;
let connection: string;

beforeAll(async () => {
  server = await startTestServer();
  startTestWorker(server.client, { concurrency: 3 });
  startTestWorker(server.client, { concurrency: 3 });
  connection = (await ownDatabase()).url;
  shop = new pg.Client({ connectionString: connection });
  await shop.connect();
});

afterAll(() => shop.end());

it('every row is processed exactly once', async () => {
  await shop.query(`
    CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL DEFAULT 'new');
    CREATE TABLE done (id int, frame int);
    INSERT INTO jobs SELECT generate_series(1, 60)`);
  await server.client.register(
    playbookText(
      'cursor/postgres',
      `
  - step: start
    loop:
      iterator: job
      spec: { mode: cursor, max_in_flight: 4, frame: { max_rows: 7, row_concurrency: 3 } }
      cursor:
        kind: postgres
        connection: "{{ workload.connection }}"
        claim: |
          UPDATE jobs SET state = 'taken'
          WHERE id IN (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT {{ __frame_max_rows }} FOR UPDATE SKIP LOCKED)
          RETURNING id
    tool:
      kind: postgres
      connection: "{{ workload.connection }}"
      command: INSERT INTO done VALUES ($1, $2)
      params: ["{{ iter.job.id }}", "{{ frame.index }}"]
`,
    ),
  );
  const id = await run(server.client, 'cursor/postgres', { connection });
  expect(await server.client.result(id)).toMatchObject({
    status: 'COMPLETED',
    result: { cursor: 'drained', stats: { total: 60, success: 60, failed: 0 } },
  });
  const { rows } = await shop.query('SELECT id FROM done ORDER BY id');
  expect(rows.map((row) => row.id)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
});

it('the example runs', async () => {
  const example = await readFile(new URL('../../examples/cursor_postgres.yaml', import.meta.url), 'utf8');
  await server.client.register(example);
  const id = await run(server.client, 'examples/cursor_postgres', { connection });
  expect(await server.client.result(id)).toMatchObject({
    status: 'COMPLETED',
    steps: { report: { rows: [{ state: 'paid', orders: 20 }] } },
  });
});
