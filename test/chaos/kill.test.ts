// Promise: kill -9 of any process at any moment loses nothing that was answered, and the run goes on when the process returns.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it, onTestFinished } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/cli/src/index.js';
import { createClient } from '../../packages/client/src/index.js';
import { freshDatabase } from '../support/postgres.js';
import { expectAllComplete, expectSoundLogs, startMany, underWay } from './checks.js';
import { freePort, openDoor, startServerProcess, startWorkerProcess } from './processes.js';

const EXECUTIONS = 50;
/** About 35 events an execution: a third of the way. */
const MIDDLE = EXECUTIONS * 12;

describe('50 running executions', () => {
  it('complete after kill -9 of the server', async () => {
    const database = await freshDatabase();
    const port = await freePort();
    const first = startServerProcess(database.url, port);
    const url = await first.ready;
    const worker = startWorkerProcess(url, 'worker');
    await worker.ready;
    const client = createClient({ baseUrl: url });
    const ids = await startMany(client, EXECUTIONS);
    await underWay(database.url, MIDDLE);

    await first.kill('SIGKILL');
    const second = startServerProcess(database.url, port);
    await second.ready;

    await expectAllComplete(client, ids);
    await expectSoundLogs(database.url, ids);
    await worker.kill('SIGTERM');
    await second.kill('SIGTERM');
    await database.drop();
  });

  it('complete after kill -9 of the worker', async () => {
    const database = await freshDatabase();
    const server = startServerProcess(database.url, await freePort());
    const url = await server.ready;
    const first = startWorkerProcess(url, 'first');
    await first.ready;
    const client = createClient({ baseUrl: url });
    const ids = await startMany(client, EXECUTIONS);
    await underWay(database.url, MIDDLE);

    await first.kill('SIGKILL');
    const second = startWorkerProcess(url, 'second');
    await second.ready;

    await expectAllComplete(client, ids);
    await expectSoundLogs(database.url, ids);
    await second.kill('SIGTERM');
    await server.kill('SIGTERM');
    await database.drop();
  });

  it('complete after Postgres was stopped for 5 seconds', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'noetl-outage-'));
    chmodSync(dataDir, 0o755);
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    let postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    const door = await openDoor(postgres.port);
    const throughDoor = postgres.url.replace(`:${postgres.port}/`, `:${door.port}/`);
    const server = startServerProcess(throughDoor, await freePort());
    const url = await server.ready;
    const worker = startWorkerProcess(url, 'worker');
    await worker.ready;
    const client = createClient({ baseUrl: url });
    const ids = await startMany(client, EXECUTIONS);
    await underWay(postgres.url, MIDDLE);

    await postgres.stop();
    await delay(5_000); // the length of the outage is the point of this test
    postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    door.lead(postgres.port);

    await expectAllComplete(client, ids);
    await expectSoundLogs(postgres.url, ids);
    await worker.kill('SIGTERM');
    await server.kill('SIGTERM');
    await door.close();
    await postgres.stop();
  });
});
