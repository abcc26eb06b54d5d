// Several databases as one installation.

import type { TestDatabase } from './postgres.js';
import { ownDatabase } from './server.js';

/** The settings of a server whose shards these are: one connection string for each. */
export function shardSettings(databases: string | readonly string[]): Record<string, string> {
  const shards = typeof databases === 'string' ? [databases] : databases;
  const [only] = shards;
  return shards.length === 1 && only !== undefined
    ? { DATABASE_URL: only }
    : { NOETL_SHARDS: shards.map(shardDsn).join(',') };
}

/** An entry of NOETL_SHARDS. */
export function shardDsn(connectionString: string): string {
  const { hostname, port, username, password, pathname } = new URL(connectionString);
  const login = `user=${decodeURIComponent(username)};password=${decodeURIComponent(password)}`;
  return `host=${hostname};port=${port};${login};database=${decodeURIComponent(pathname.slice(1))}`;
}

/** Dropped when the file ends, after its servers. */
export function ownDatabases(count: number): Promise<TestDatabase[]> {
  return Promise.all(Array.from({ length: count }, () => ownDatabase()));
}

/** The same database, by way of another port. */
export function throughPort(connectionString: string, port: number): string {
  const url = new URL(connectionString);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}
