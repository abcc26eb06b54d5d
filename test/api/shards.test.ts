// Three databases: an execution lives on the one its id hashes to, and no caller can tell.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Id, shardFor } from '../../packages/core/src/index.js';
import type { TestDatabase } from '../support/postgres.js';
import { ended, playbookText, run } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ownDatabases, shardSettings } from '../support/shards.js';
import { startTestWorker } from '../support/worker.js';
import { get } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { done, workOff } from './support/reports.js';
import { sql } from './support/sql.js';

let databases: TestDatabase[];
let server: TestServer;
let executions: string[];

beforeAll(async () => {
  databases = await ownDatabases(3);
  server = await startTestServer({
    database: databases[0] as TestDatabase,
    env: { ...shardSettings(databases.map(({ url }) => url)), NOETL_COMMAND_CLAIM_LEASE_SECONDS: '3' },
  });
  await server.client.register(chain('shard/two', 2));
  await server.client.register(chain('shard/one', 1));
  executions = [];
  for (let n = 0; n < 60; n++) executions.push((await server.client.execute({ path: 'shard/two' })).execution_id);
});

describe('three shards', () => {
  it('hold each execution where shardFor says, events and commands with it', async () => {
    for (const [index, database] of databases.entries()) {
      const expected = executions.filter((id) => shardFor(id as Id, 3) === index).sort();
      expect(expected.length).toBeGreaterThan(0);
      for (const table of ['execution', 'event', 'command']) {
        const rows = await sql<{ id: string }>(database, `SELECT DISTINCT execution_id AS id FROM noetl.${table}`);
        expect(rows.map(({ id }) => id).sort()).toEqual(expected);
      }
    }
  });

  it('have one catalog, on the first', async () => {
    const counts = await Promise.all(
      databases.map((database) => sql(database, 'SELECT count(*)::int AS n FROM noetl.catalog')),
    );
    expect(counts.flat()).toEqual([{ n: 2 }, { n: 0 }, { n: 0 }]);
  });

  it('are one list, newest first, in pages that neither skip nor repeat', async () => {
    const listed: string[] = [];
    for (let page = 1; page <= 9; page++) {
      listed.push(
        ...(await server.client.listExecutions({ page, page_size: 7 })).map(({ execution_id }) => execution_id),
      );
    }
    expect(listed).toEqual([...executions].reverse());
  });

  it('are leased from and reported to as one', async () => {
    await workOff(server.client);
    const statuses = await Promise.all(executions.map(async (id) => (await server.client.status(id)).status));
    expect(new Set(statuses)).toEqual(new Set(['COMPLETED']));
  });

  it('stream each execution to its end', async () => {
    for (const id of executions.slice(0, 6)) {
      const { text } = await get(server.url, `/api/executions/${id}/stream`);
      expect(text).toContain('"status":"COMPLETED"');
    }
  });

  it('renew and lose leases as one', async () => {
    await server.client.registerWorker({ name: 'holder' });
    const starts = await server.client.executeBatch(Array.from({ length: 60 }, () => ({ path: 'shard/one' })));
    const { commands } = await server.client.lease({ worker_id: 'holder', pools: ['shared'], max: 60, wait_ms: 2_000 });
    expect(new Set(commands.map(({ execution_id }) => shardFor(execution_id as Id, 3))).size).toBe(3);
    const leases = commands.map(({ command_id, claim_token }) => ({ command_id, claim_token }));
    expect(await server.client.heartbeat({ name: 'holder', leases })).toMatchObject({ lost: [], cancelled: [] });

    const again = new Set<string>();
    while (again.size < 60) {
      const answer = await server.client.lease({ worker_id: 'heir', pools: ['shared'], max: 60, wait_ms: 10_000 });
      for (const command of answer.commands) {
        expect(command.attempt).toBe(2);
        again.add(command.command_id);
      }
      await server.client.report({ worker_id: 'heir', reports: answer.commands.map((command) => done(command)) });
    }
    expect(again).toEqual(new Set(commands.map(({ command_id }) => command_id)));
    const statuses = await Promise.all(
      starts.results.map(({ execution_id }) => server.client.status(String(execution_id))),
    );
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set(['COMPLETED']));
  });

  it('cancel children on other shards with their parent', async () => {
    const start = async (parent?: string) =>
      (
        await server.client.execute({
          path: 'shard/two',
          execution_pool: 'nobody',
          ...(parent === undefined ? {} : { parent_execution_id: parent }),
        })
      ).execution_id;
    const parent = await start();
    const children: string[] = [];
    while (new Set([parent, ...children].map((id) => shardFor(id as Id, 3))).size < 3)
      children.push(await start(parent));
    const { cancelled_executions } = await server.client.cancel(parent);
    expect([...cancelled_executions].sort()).toEqual([parent, ...children].sort());
  });

  it('find a reference worker’s command by event id on any of them', async () => {
    for (const id of executions.slice(0, 6)) {
      const [issued] = (await server.client.events(id, { event_type: 'command.issued' })).events;
      const { status, text } = await get(server.url, `/api/commands/${String(issued?.event_id)}`);
      expect(status).toBe(200);
      expect(text).toContain(`"execution_id":${id},`);
    }
  });

  it('are all migrated', async () => {
    const applied = await Promise.all(databases.map((database) => sql(database, 'SELECT name FROM noetl.migration')));
    expect(applied[1]).toEqual(applied[0]);
    expect(applied[2]).toEqual(applied[0]);
  });
});

describe('executions on different shards', () => {
  beforeAll(async () => {
    startTestWorker(server.client);
    await server.client.register(
      playbookText(
        'across/child',
        `
  - step: start
    tool:
      kind: python
      input: { n: "{{ workload.n }}" }
      code: "result = {'n': n * 2, 'rows': ['x' * 200] * 1000}"
`,
        'workload: { n: 0 }',
      ),
    );
    await server.client.register(
      playbookText(
        'across/parent',
        `
  - step: start
    loop: { in: [1, 2, 3, 4, 5, 6, 7, 8], iterator: n, spec: { mode: parallel, max_in_flight: 8 } }
    tool: { kind: playbook, path: across/child, return_result: true, input: { n: "{{ n }}" } }
    next: { arcs: [{ step: sum }] }
  - step: sum
    tool:
      kind: python
      input: { results: "{{ start.results }}" }
      code: "result = {'sum': sum(r['data']['n'] for r in results), 'rows': sum(len(r['data']['rows']) for r in results)}"
`,
      ),
    );
    await server.client.register(playbookText('across/waits', '  - { step: start, tool: { kind: wait, signal: go } }'));
    await server.client.register(
      playbookText(
        'across/breaks',
        '  - { step: start, tool: { kind: shell, command: "test {{ workload.good }} = yes" } }',
        'workload: { good: "no" }',
      ),
    );
  });

  /** More of them, until every shard has one. */
  async function startOnAll(path: string): Promise<string[]> {
    const { results } = await server.client.executeBatch(Array.from({ length: 24 }, () => ({ path })));
    const ids = results.map((result) => String(result.execution_id));
    expect(shardsOf(ids)).toEqual([0, 1, 2]);
    return ids;
  }

  it('are parent and children, and the parent reads the large results that lie with them', async () => {
    const parent = await run(server.client, 'across/parent');
    const found = await Promise.all(
      databases.map((database) =>
        sql<{ id: string }>(database, 'SELECT execution_id AS id FROM noetl.execution WHERE parent_execution_id = $1', [
          parent,
        ]),
      ),
    );
    const children = found.flat().map(({ id }) => id);
    expect(children).toHaveLength(8);
    expect(shardsOf([parent, ...children]).length).toBeGreaterThan(1);
    const stored = await Promise.all(
      databases.map((database) => sql<{ id: string }>(database, 'SELECT execution_id AS id FROM noetl.result_store')),
    );
    for (const [index, rows] of stored.entries()) {
      expect(rows.map(({ id }) => shardFor(id as Id, 3)).every((shard) => shard === index)).toBe(true);
    }
    expect(stored.flat().map(({ id }) => id)).toEqual(expect.arrayContaining(children));
    expect((await server.client.result(parent)).steps['sum']).toMatchObject({ sum: 72, rows: 8_000 });
  });

  it('each get their signal', async () => {
    const ids = await startOnAll('across/waits');
    await Promise.all(ids.map((id) => server.client.signal(id, { name: 'go', payload: { id } })));
    expect(new Set(await Promise.all(ids.map((id) => ended(server.client, id))))).toEqual(new Set(['COMPLETED']));
    const payloads = await Promise.all(ids.map(async (id) => (await server.client.result(id)).steps['start']));
    expect(payloads).toMatchObject(ids.map((id) => ({ payload: { id } })));
  });

  it('are filtered as one list', async () => {
    const ids = await startOnAll('across/waits');
    const listed = await server.client.listExecutions({ path: 'across/waits', status: 'RUNNING', limit: 100 });
    expect(listed.map(({ execution_id }) => execution_id).sort()).toEqual([...ids].sort());
    const starts = listed.map(({ start_time }) => start_time);
    expect(starts).toEqual([...starts].sort().reverse());
    await Promise.all(ids.map((id) => server.client.cancel(id)));
  });

  it('are run again on any shard, and all at once by an operation', async () => {
    const ids = await startOnAll('across/breaks');
    await Promise.all(ids.map((id) => ended(server.client, id)));
    const made = await server.client.startOperation({
      action: 'rerun',
      mode: 'from_failure',
      filter: { path: 'across/breaks' },
      workload: { good: 'yes' },
    });
    let operation = made;
    while (operation.status === 'RUNNING') operation = await server.client.operation(String(made.operation_id));
    expect(operation).toMatchObject({ status: 'COMPLETED', total: 24, done: 24, failed: 0 });
    const { body } = await get(server.url, `/api/operations/${String(made.operation_id)}/items?limit=100`);
    const forks = (body['items'] as { new_execution_id: string }[]).map((item) => item.new_execution_id);
    expect(shardsOf(forks)).toEqual([0, 1, 2]);
    expect(new Set(await Promise.all(forks.map((id) => ended(server.client, id))))).toEqual(new Set(['COMPLETED']));
  });
});

/** The shards that these executions live on. */
function shardsOf(ids: readonly string[]): number[] {
  return [...new Set(ids.map((id) => shardFor(id as Id, 3)))].sort();
}
