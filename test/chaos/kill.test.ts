// Promise: kill -9 of any process at any moment loses nothing that was answered, and the run goes on when the process returns.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { describe, it, onTestFinished } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/cli/src/index.js';
import { createClient } from '../../packages/client/src/index.js';
import { freshDatabase } from '../support/postgres.js';
import { throughPort } from '../support/shards.js';
import { expectAllComplete, expectReplayMatches, expectSoundLogs, startMany, underWay } from './checks.js';
import { openDoor } from './door.js';
import { freePort, startServerProcess, startWorkerProcess } from './processes.js';

const EXECUTIONS = 50;
/** About 35 events an execution: a third of the way. */
const MIDDLE = EXECUTIONS * 12;

describe.each([
  { shards: 1, where: 'one database', outage: 5 },
  { shards: 3, where: 'three shards', outage: 2 },
])('50 running executions on $where', ({ shards, outage }) => {
  async function freshShards(): Promise<string[]> {
    const databases = await Promise.all(Array.from({ length: shards }, () => freshDatabase()));
    onTestFinished(async () => {
      await Promise.all(databases.map((database) => database.drop()));
    });
    return databases.map((database) => database.url);
  }

  it('complete after kill -9 of the server', async () => {
    const databases = await freshShards();
    const port = await freePort();
    const first = startServerProcess(databases, port);
    const url = await first.ready;
    const worker = startWorkerProcess(url, 'worker');
    await worker.ready;
    const client = createClient({ baseUrl: url });
    const ids = await startMany(client, EXECUTIONS);
    await underWay(databases, MIDDLE);

    await first.kill('SIGKILL');
    const second = startServerProcess(databases, port);
    await second.ready;

    await expectAllComplete(client, ids);
    await expectSoundLogs(databases, ids);
    await expectReplayMatches(client, ids);
    await worker.kill('SIGTERM');
    await second.kill('SIGTERM');
  });

  it('complete after kill -9 of the worker', async () => {
    const databases = await freshShards();
    const server = startServerProcess(databases, await freePort());
    const url = await server.ready;
    const first = startWorkerProcess(url, 'first');
    await first.ready;
    const client = createClient({ baseUrl: url });
    const ids = await startMany(client, EXECUTIONS);
    await underWay(databases, MIDDLE);

    await first.kill('SIGKILL');
    const second = startWorkerProcess(url, 'second');
    await second.ready;

    await expectAllComplete(client, ids);
    await expectSoundLogs(databases, ids);
    await expectReplayMatches(client, ids);
    await second.kill('SIGTERM');
    await server.kill('SIGTERM');
  });

  it(`complete after Postgres was stopped for ${outage} seconds`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'noetl-outage-'));
    chmodSync(dataDir, 0o755);
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    let postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    const names = await makeDatabases(postgres.url, shards);
    const door = await openDoor(postgres.port);
    const server = startServerProcess(
      names.map((name) => databaseAt(throughPort(postgres.url, door.port), name)),
      await freePort(),
    );
    const url = await server.ready;
    const worker = startWorkerProcess(url, 'worker');
    await worker.ready;
    const client = createClient({ baseUrl: url });
    const ids = await startMany(client, EXECUTIONS);
    const databases = () => names.map((name) => databaseAt(postgres.url, name));
    await underWay(databases(), MIDDLE);

    await postgres.stop();
    await delay(outage * 1000); // the length of the outage is the point of this test
    postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    door.lead(postgres.port);

    await expectAllComplete(client, ids);
    await expectSoundLogs(databases(), ids);
    await expectReplayMatches(client, ids);
    await worker.kill('SIGTERM');
    await server.kill('SIGTERM');
    await door.close();
    await postgres.stop();
  });
});

async function makeDatabases(url: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `chaos_${index}`);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const name of names) await client.query(`CREATE DATABASE ${name}`);
  } finally {
    await client.end();
  }
  return names;
}

function databaseAt(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
