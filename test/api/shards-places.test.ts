// Every database remembers its place: a start on other databases, in another order or another number is refused before anything is written.
import { describe, expect, it } from 'vitest';
import type { TestDatabase } from '../support/postgres.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ownDatabases, shardDsn } from '../support/shards.js';
import { chain } from './support/playbooks.js';
import { sql } from './support/sql.js';

const [FIRST, SECOND, THIRD] = [0, 1, 2] as const;

function start(databases: readonly TestDatabase[], env: Record<string, string> = {}): Promise<TestServer> {
  const [first] = databases;
  if (first === undefined) throw new Error('at least one database');
  const shards = databases.map((database) => shardDsn(database.url)).join(',');
  return startTestServer({
    database: first,
    env: { ...(databases.length > 1 ? { NOETL_SHARDS: shards } : {}), ...env },
  });
}

async function startAndStop(databases: readonly TestDatabase[], env: Record<string, string> = {}): Promise<void> {
  await (await start(databases, env)).close();
}

const pick = (databases: readonly TestDatabase[], ...order: number[]): TestDatabase[] =>
  order.map((index) => {
    const database = databases[index];
    if (database === undefined) throw new Error(`no database ${index}`);
    return database;
  });

describe('a server that starts again', () => {
  it('starts on the same databases in the same order', async () => {
    const databases = await ownDatabases(3);
    await startAndStop(databases);
    await startAndStop(databases);
    const places = await Promise.all(
      databases.map((database) =>
        sql(database, `SELECT shard_index, shard_count FROM noetl.database_role WHERE role = 'shard'`),
      ),
    );
    expect(places.flat()).toEqual([0, 1, 2].map((shard_index) => ({ shard_index, shard_count: 3 })));
  });

  it('is refused another order', async () => {
    const databases = await ownDatabases(3);
    await startAndStop(databases);
    await expect(start(pick(databases, FIRST, THIRD, SECOND))).rejects.toThrow(
      /^NOETL_SHARDS\[1\] \(.*\) is shard 2, not shard 1: .*same order as before/,
    );
  });

  it('is refused another number of shards', async () => {
    const databases = await ownDatabases(3);
    await startAndStop(pick(databases, FIRST));
    await expect(start(databases)).rejects.toThrow(/this installation has one shard, and NOETL_SHARDS names 3/);
  });

  it('is refused another database in the place of one', async () => {
    const databases = await ownDatabases(4);
    await startAndStop(pick(databases, FIRST, SECOND, THIRD));
    await expect(start(pick(databases, FIRST, SECOND, 3))).rejects.toThrow(
      /NOETL_SHARDS\[2\] .* has no place in this installation/,
    );
  });

  it('is refused another cluster database', async () => {
    const databases = await ownDatabases(3);
    const [first, second, elsewhere] = databases as [TestDatabase, TestDatabase, TestDatabase];
    await startAndStop([first, second]);
    await expect(start([first, second], { NOETL_CLUSTER_DSN: shardDsn(elsewhere.url) })).rejects.toThrow(
      /NOETL_SHARDS\[0\] .* does not belong to NOETL_CLUSTER_DSN/,
    );
  });

  it('may name the first shard as the cluster database, or leave it out', async () => {
    const databases = await ownDatabases(2);
    const [first] = databases as [TestDatabase];
    await startAndStop(databases, { NOETL_CLUSTER_DSN: shardDsn(first.url) });
    await startAndStop(databases);
  });
});

describe('a first start', () => {
  it('is refused a database that is named twice, and may be repeated without it', async () => {
    const databases = await ownDatabases(2);
    await expect(start(pick(databases, FIRST, SECOND, SECOND))).rejects.toThrow(/NOETL_SHARDS\[1\] .* is named twice/);
    await startAndStop(databases);
  });

  it('is refused a shard of another installation', async () => {
    const databases = await ownDatabases(3);
    await startAndStop(pick(databases, FIRST, SECOND));
    await expect(start(pick(databases, THIRD, SECOND))).rejects.toThrow(/NOETL_SHARDS\[1\] .* another installation/);
  });

  it('is refused databases whose executions belong elsewhere, though they do not know their place yet', async () => {
    const databases = await ownDatabases(3);
    const server = await start(databases);
    await server.client.register(chain('places/one', 1));
    await server.client.executeBatch(Array.from({ length: 60 }, () => ({ path: 'places/one' })));
    await server.close();
    await Promise.all(databases.map((database) => sql(database, 'DELETE FROM noetl.database_role')));
    await expect(start(pick(databases, FIRST, THIRD, SECOND))).rejects.toThrow(/holds execution \d+, which belongs to/);
    await startAndStop(databases);
  });

  it('of two servers at once gives every database one place', async () => {
    const databases = await ownDatabases(3);
    const servers = await Promise.all([start(databases), start(databases)]);
    await Promise.all(servers.map((server) => server.close()));
    const ids = await Promise.all(
      databases.map((database) =>
        sql<{ id: string }>(database, 'SELECT DISTINCT installation_id AS id FROM noetl.database_role'),
      ),
    );
    expect(new Set(ids.flat().map(({ id }) => id)).size).toBe(1);
  });
});

describe('a shard that cannot be used is named, without its password', () => {
  it.each([
    ['that does not exist', 'database', 'no_such_db', /^NOETL_SHARDS\[1\] \(.*\/no_such_db\): .*does not exist/],
    ['where nothing listens', 'port', '1', /^NOETL_SHARDS\[1\] \(.*:1\/.*\): connect ECONNREFUSED/],
    ['that wants another password', 'password', 'hunter2', /^NOETL_SHARDS\[1\] \(.*\): password authentication failed/],
  ])('a database %s', async (_, field, value, message) => {
    const [first, second] = (await ownDatabases(2)) as [TestDatabase, TestDatabase];
    const bad = shardDsn(second.url).replace(new RegExp(`${field}=[^;]*`), `${field}=${value}`);
    const [, password = ''] = /password=([^;]+)/.exec(bad) ?? [];
    expect(password).not.toBe('');

    const start = startTestServer({ database: first, env: { NOETL_SHARDS: `${shardDsn(first.url)},${bad}` } });

    const { message: said } = await start.then(
      () => new Error('it started'),
      (error: unknown) => error as Error,
    );
    expect(said).toMatch(message);
    expect(said).not.toContain(password);
  });
});
