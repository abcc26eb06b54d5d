// Three databases: an execution lives on the one its id hashes to, and no caller can tell.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Id, shardFor } from '../../packages/core/src/index.js';
import type { TestDatabase } from '../support/postgres.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { get } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { done, workOff } from './support/reports.js';
import { sql } from './support/sql.js';

let databases: TestDatabase[];
let server: TestServer;
let executions: string[];

const dsn = (database: TestDatabase) => {
  const url = new URL(database.url);
  const password = decodeURIComponent(url.password);
  return `host=${url.hostname};port=${url.port};user=${url.username};password=${password};database=${database.name}`;
};

beforeAll(async () => {
  databases = await Promise.all([ownDatabase(), ownDatabase(), ownDatabase()]);
  server = await startTestServer({
    database: databases[0] as TestDatabase,
    env: { NOETL_SHARDS: databases.map(dsn).join(','), NOETL_COMMAND_CLAIM_LEASE_SECONDS: '3' },
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

describe('a shard that is not there stops the start and is named', () => {
  it.each([
    [
      'a database that does not exist',
      () => dsn(databases[0] as TestDatabase).replace(/database=.*/, 'database=no_such_db'),
      /no_such_db/,
    ],
    ['an address where nothing listens', () => 'host=127.0.0.1;port=1;user=x', /127\.0\.0\.1:1/],
  ])('%s', async (_, bad, message) => {
    const good = dsn(databases[0] as TestDatabase);
    const start = startTestServer({
      database: databases[0] as TestDatabase,
      env: { NOETL_SHARDS: `${good},${bad()}` },
    });
    await expect(start).rejects.toThrow(message);
  });
});
