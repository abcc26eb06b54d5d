import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { freshDatabase } from './postgres.js';

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('a fresh database', () => {
  it('is empty and does not see its neighbours', async () => {
    const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
    await ask(one.url, 'CREATE TABLE mine (id int)');
    const tables = "SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'public'";
    expect(await ask(one.url, tables)).toEqual([{ n: 1 }]);
    expect(await ask(two.url, tables)).toEqual([{ n: 0 }]);
    await Promise.all([one.drop(), two.drop()]);
  });

  it('can be dropped while a connection is open', async () => {
    const database = await freshDatabase();
    const client = new pg.Client({ connectionString: database.url });
    const ended = new Promise((settle) => client.on('error', settle));
    await client.connect();
    await database.drop();
    await expect(ended).resolves.toBeInstanceOf(Error);
    await expect(ask(database.url, 'SELECT 1')).rejects.toMatchObject({ code: '3D000' });
  });

  it('can start as a copy of another one', async () => {
    const origin = await freshDatabase();
    await ask(origin.url, 'CREATE TABLE copied AS SELECT 7 AS n');
    const copy = await freshDatabase({ template: origin.name });
    expect(await ask(copy.url, 'SELECT n FROM copied')).toEqual([{ n: 7 }]);
    await Promise.all([copy.drop(), origin.drop()]);
  });
});
