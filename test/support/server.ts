// A control plane for tests: the real server in this process, on a database of its own and a free port. Whatever a file starts
// is closed when the file ends, so a test that fails half-way leaves nothing behind.
import { afterAll } from 'vitest';
import { createClient, type NoetlClient } from '../../packages/client/src/index.js';
import { createLogger, loadServerConfig, type ServerFlags, startServer } from '../../packages/server/src/index.js';
import { freshDatabase, type TestDatabase } from './postgres.js';

export interface TestServer {
  readonly url: string;
  readonly client: NoetlClient;
  readonly database: TestDatabase;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: ServerFlags;
  /** Share the database of another server; it outlives this one. */
  readonly database?: TestDatabase;
}

const servers = new Set<{ close(): Promise<void> }>();
const databases = new Set<TestDatabase>();

afterAll(async () => {
  await Promise.all([...servers].map((server) => server.close()));
  await Promise.all([...databases].map((database) => database.drop()));
  databases.clear();
});

/** A database that is dropped when the file ends, after its servers. */
export async function ownDatabase(): Promise<TestDatabase> {
  const database = await freshDatabase();
  databases.add(database);
  return database;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const database = options.database ?? (await ownDatabase());
  const level = process.env['NOETL_TEST_LOG'] ?? 'silent';
  const env = { DATABASE_URL: database.url, NOETL_LOG_LEVEL: level, ...options.env };
  const config = loadServerConfig(env, { port: 0, ...options.flags });
  const server = await startServer(config, createLogger(config.logLevel));
  const running: TestServer = {
    url: server.url,
    client: createClient({ baseUrl: server.url, ...(config.token === undefined ? {} : { token: config.token }) }),
    database,
    async close() {
      servers.delete(running);
      await server.close();
    },
  };
  servers.add(running);
  return running;
}
