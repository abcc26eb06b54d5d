// A server with the internal API switched on, and calls that carry its token.
import { afterAll } from 'vitest';
import type { TestDatabase } from '../../support/postgres.js';
import { ownDatabase, startTestServer, type TestServer, type TestServerOptions } from '../../support/server.js';
import { type Answer, ask } from '../support/ask.js';

export const TOKEN = 'internal-token-for-tests';
export const BEARER = { authorization: `Bearer ${TOKEN}` };
const VARIABLE = 'NOETL_INTERNAL_API_TOKEN';

/** The server reads the variable for every request, from the environment of its process: here that is ours. */
export function setInternalToken(value: string | undefined): void {
  if (value === undefined) delete process.env[VARIABLE];
  else process.env[VARIABLE] = value;
}

afterAll(() => setInternalToken(undefined));

export async function startInternalServer(options: TestServerOptions = {}): Promise<TestServer> {
  setInternalToken(TOKEN);
  return startTestServer(options);
}

export function internalPost(server: TestServer, path: string, json: unknown): Promise<Answer> {
  return ask(server.url, 'POST', `/api/internal/${path}`, { json, headers: BEARER });
}

export function internalGet(server: TestServer, path: string): Promise<Answer> {
  return ask(server.url, 'GET', `/api/internal/${path}`, { headers: BEARER });
}

/** A server on so many databases of its own. */
export async function startShardedServer(
  count: number,
): Promise<{ server: TestServer; databases: TestDatabase[]; shards: string }> {
  const databases = await Promise.all(Array.from({ length: count }, ownDatabase));
  const shards = databases.map(({ url }) => shardDsn(new URL(url))).join(',');
  const [database] = databases;
  if (database === undefined) throw new Error('a server needs a database');
  return { server: await startInternalServer({ database, env: { NOETL_SHARDS: shards } }), databases, shards };
}

function shardDsn({ hostname, port, username, password, pathname }: URL): string {
  return `host=${hostname};port=${port};user=${username};password=${password};database=${pathname.slice(1)}`;
}
