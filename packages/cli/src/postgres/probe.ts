// One connection attempt, told apart by what it means for somebody who waits for a server to come up.
import pg from 'pg';
import { codeOf } from '../errors.js';

export type Probe =
  | { readonly state: 'ready'; readonly dataDirectory: string }
  /** Up and authenticated us, but the database does not exist yet. */
  | { readonly state: 'no-database' }
  /** Not listening yet, starting, recovering or shutting down: ask again. */
  | { readonly state: 'not-yet' }
  /** It answered and will keep giving this answer. */
  | { readonly state: 'refused'; readonly error: Error };

const CANNOT_CONNECT_NOW = '57P03';
const INVALID_CATALOG_NAME = '3D000';
const TOO_MANY_CONNECTIONS = '53300';

export async function probe(url: string): Promise<Probe> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A server that stops while we hold the connection reports it here; without a listener that would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    return { state: 'ready', dataDirectory: rows[0]?.data_directory ?? '' };
  } catch (error) {
    const code = codeOf(error);
    if (code === INVALID_CATALOG_NAME) return { state: 'no-database' };
    const permanent = code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !passing.has(code) && !code.startsWith('E');
    if (permanent && error instanceof Error) return { state: 'refused', error };
    return { state: 'not-yet' };
  } finally {
    await client.end().catch(() => {});
  }
}

const passing: ReadonlySet<string> = new Set([CANNOT_CONNECT_NOW, TOO_MANY_CONNECTIONS, '57P01', '57P02']);

export async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
