import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { identifyProcess } from '../datadir/process.js';
import { clusterPaths } from './cluster.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.js';

const run = promisify(execFile);

async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Waits for the process itself to be gone, which also covers servers that are not our children. */
async function killed(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal);
  await expect.poll(() => identifyProcess(pid)).toBeUndefined();
}

describe('the embedded PostgreSQL', () => {
  let dataDir: string;
  let running: EmbeddedPostgres | undefined;
  const lines: string[] = [];

  const start = async () => {
    lines.length = 0;
    running = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line) });
    return running;
  };

  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'noetl-pg-'));
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  it('creates the cluster on the first start and keeps its data over a restart', async () => {
    const first = await start();
    expect(lines).toEqual(['Creating the PostgreSQL cluster', 'Starting PostgreSQL']);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    const second = await start();
    expect(lines).toEqual(['Starting PostgreSQL']);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('is durable, in UTF-8 and UTC, and listens on the loopback address only', async () => {
    const { url } = await start();
    const names = ['fsync', 'synchronous_commit', 'server_encoding', 'TimeZone', 'listen_addresses'];
    const columns = names.map((name) => `current_setting('${name}') AS "${name}"`).join(', ');
    expect(await query(url, `SELECT ${columns}, current_setting('unix_socket_directories') AS sockets`)).toEqual([
      {
        fsync: 'on',
        synchronous_commit: 'on',
        server_encoding: 'UTF8',
        TimeZone: 'UTC',
        listen_addresses: '127.0.0.1',
        sockets: '',
      },
    ]);
  });

  it('refuses a wrong password and keeps the right one from other users', async () => {
    const { url } = await start();
    const wrong = new URL(url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect(statSync(clusterPaths(dataDir).password).mode & 0o777).toBe(0o600);
  });

  it('adopts a server that outlived the process that started it', async () => {
    const { port, pid } = await start();
    const again = await startEmbeddedPostgres({ dataDir, log: () => {} });
    expect(again).toMatchObject({ port, pid, adopted: true });
    await again.stop();
    expect(identifyProcess(pid)).toBeUndefined();
  });

  it('recovers after the server itself was killed', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE crashed AS SELECT 1 AS survived');
    await killed(first.pid, 'SIGKILL');
    const second = await start();
    expect(await query(second.url, 'SELECT survived FROM crashed')).toEqual([{ survived: 1 }]);
  });

  it('starts when the pid of a leftover pid file belongs to a stranger by now', async () => {
    const first = await start();
    const pidFile = join(clusterPaths(dataDir).data, 'postmaster.pid');
    const text = readFileSync(pidFile, 'utf8');
    await killed(first.pid, 'SIGKILL');
    writeFileSync(pidFile, text.replace(/^\d+/, String(process.pid)));
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('starts over when the first initdb was interrupted', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'noetl-pg-'));
    const { folder } = clusterPaths(fresh);
    mkdirSync(join(folder, 'data.unfinished'), { recursive: true });
    writeFileSync(join(folder, 'data.unfinished', 'PG_VERSION'), '18\n');
    const server = await startEmbeddedPostgres({ dataDir: fresh, log: () => {} });
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
    rmSync(fresh, { recursive: true, force: true });
  });

  it('does not share our process group, so that Ctrl-C reaches us first', async () => {
    const { pid } = await start();
    const group = async (of: number) => (await run('ps', ['-o', 'pgid=', '-p', String(of)])).stdout.trim();
    expect(await group(pid)).toBe(String(pid));
    expect(await group(process.pid)).not.toBe(String(pid));
  });

  it('ends with one line that names the reason when it cannot start', async () => {
    const first = await start();
    await first.stop();
    const conf = join(clusterPaths(dataDir).data, 'postgresql.conf');
    const good = readFileSync(conf, 'utf8');
    writeFileSync(conf, `${good}\nmax_connections = nonsense\n`);
    try {
      await expect(start()).rejects.toThrow(/PostgreSQL did not start: .*max_connections|errors/);
    } finally {
      writeFileSync(conf, good);
    }
  });
});
