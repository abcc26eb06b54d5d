// Brings a database to the newest schema. Numbered `.sql` files, forward only, each in one transaction. Several servers may start at
// once: an advisory lock lets one of them do the work.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';

const DIRECTORY = new URL('../../migrations/', import.meta.url);
const LOCK_KEY = 7_306_081_947;

export async function migrate(pool: pg.Pool): Promise<string[]> {
  const files = (await readdir(DIRECTORY)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).sort();
  const client = await pool.connect();
  const applied: string[] = [];
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    await client.query('CREATE SCHEMA IF NOT EXISTS noetl');
    await client.query(
      `CREATE TABLE IF NOT EXISTS noetl.migration (name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const known = await client.query<{ name: string; sha256: string }>('SELECT name, sha256 FROM noetl.migration');
    const done = new Map(known.rows.map((row) => [row.name, row.sha256]));
    for (const name of done.keys()) {
      if (!files.includes(name))
        throw new Error(`the database has migration ${name}, this server does not: start a newer server`);
    }
    for (const name of files) {
      const sql = await readFile(new URL(name, DIRECTORY), 'utf8');
      const sha256 = createHash('sha256').update(sql).digest('hex');
      const before = done.get(name);
      if (before === sha256) continue;
      if (before !== undefined) throw new Error(`migration ${name} was changed after it had been applied`);
      await client.query('BEGIN');
      try {
        await client.query(sql);
        await client.query('INSERT INTO noetl.migration (name, sha256) VALUES ($1, $2)', [name, sha256]);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      }
      applied.push(name);
    }
    return applied;
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [LOCK_KEY]).catch(() => undefined);
    client.release();
  }
}
