// Databases for tests. Every file that touches Postgres asks for a fresh one, so no test sees what another one wrote.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly url: string;
  readonly name: string;
  /** Ends every connection that is still open, then drops the database. */
  readonly drop: () => Promise<void>;
}

/** Address of the server that test/support/global-setup.ts started for this run. */
export function sharedPostgres(): { readonly url: string } {
  return { url: inject('postgresUrl') };
}

/** @param template a database to copy, for files that share an expensive schema */
export async function freshDatabase(options: { template?: string } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const template = options.template === undefined ? '' : ` TEMPLATE ${pg.escapeIdentifier(options.template)}`;
  await administer(`CREATE DATABASE ${pg.escapeIdentifier(name)}${template}`);
  const url = new URL(sharedPostgres().url);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    drop: () => administer(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`),
  };
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: sharedPostgres().url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
