// Notifications of commands on JetStream: how they leave the outbox, and how they wake workers. They are wake-ups: losing one costs time.
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../packages/client/src/index.js';
import { stringifyJson } from '../../packages/core/src/index.js';
import { natsWakeUps, silentLog } from '../../packages/worker/src/index.js';
import { chain } from '../api/support/playbooks.js';
import { sql } from '../api/support/sql.js';
import { expectAllComplete } from '../chaos/checks.js';
import { freePort, startServerProcess, startWorkerProcess } from '../chaos/processes.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { ids, messagesIn, until, withNats } from './support.js';

const announcing = (nats: TestNats, database?: TestServer['database']) =>
  startTestServer({
    ...(database === undefined ? {} : { database }),
    env: { NOETL_NATS_URL: nats.url, NOETL_COMMAND_TRANSPORT: 'nats' },
  });

/** Rows as an append writes them. */
async function announce({ database }: TestServer, count: number, pool = 'shared'): Promise<string[]> {
  const db = new pg.Client({ connectionString: database.url });
  await db.connect();
  const messageIds: string[] = [];
  for (let n = 0; n < count; n++) {
    const [execution, event] = [ids.next(), ids.next()];
    const body = {
      execution_id: BigInt(execution),
      event_id: BigInt(event),
      command_id: `${execution}:a:${event}`,
      step: 'a',
    };
    await db.query(
      `INSERT INTO noetl.outbox (topic, subject, msg_id, execution_id, event_id, payload) VALUES ('command', $1, $2, $3, $4, $5)`,
      [`noetl.commands.${pool}.${execution}`, `command:${execution}:${event}`, execution, event, stringifyJson(body)],
    );
    messageIds.push(`command:${execution}:${event}`);
  }
  await db.end();
  return messageIds.sort();
}

const notifications = (nats: TestNats, count: number) =>
  until(
    () => messagesIn(nats, 'noetl_commands'),
    (seen) => seen.length >= count,
  );

const statuses = ({ database }: TestServer) =>
  sql<{ status: string; n: number }>(database, 'SELECT status, count(*)::int AS n FROM noetl.outbox GROUP BY status');

it('an announced command is a message with the id of its row, under its pool and execution', async () => {
  const nats = await startTestNats();
  const server = await announcing(nats);
  const [id] = await announce(server, 1, 'gpu');
  const [message] = await notifications(nats, 1);
  const execution = id?.split(':')[1];
  expect(message).toMatchObject({
    messageId: id,
    subject: `noetl.commands.gpu.${execution}`,
    body: { execution_id: BigInt(String(execution)), step: 'a' },
  });
  expect(
    await until(
      () => statuses(server),
      ([first]) => first?.status === 'PUBLISHED',
    ),
  ).toEqual([{ status: 'PUBLISHED', n: 1 }]);
});

it('two servers publish every row, and none twice', async () => {
  const nats = await startTestNats();
  const one = await announcing(nats);
  await announcing(nats, one.database);
  const announced = await announce(one, 400);
  const seen = await notifications(nats, 400);
  expect(seen.map(({ messageId }) => messageId).sort()).toEqual(announced);
});

it('what was announced while NATS was away leaves when it is back', async () => {
  const nats = await startTestNats();
  const server = await announcing(nats);
  await nats.kill();
  const announced = await announce(server, 20);
  await nats.restart();
  const seen = await notifications(nats, 20);
  expect(seen.map(({ messageId }) => messageId).sort()).toEqual(announced);
});

it('a stream of notifications that somebody deletes is made again', async () => {
  const nats = await startTestNats();
  const server = await announcing(nats);
  await announce(server, 1);
  await notifications(nats, 1);
  await withNats(nats, (_connection, manager) => manager.streams.delete('noetl_commands'));
  const announced = await announce(server, 1);
  expect((await notifications(nats, 1)).map(({ messageId }) => messageId)).toEqual(announced);
});

const LONG_MS = 600_000;

/** A worker that asks for commands only when it is told to, or after `patienceMs`. */
function startListening(server: TestServer, nats: TestNats, patienceMs: number): void {
  const address = { servers: [nats.url] };
  const wakeUps = natsWakeUps({ address, pools: ['shared'], log: silentLog, patienceMs });
  const worker = startTestWorker(server.client, { wakeUps });
  onTestFinished(async () => {
    await worker.stop();
    await wakeUps.close();
  });
}

const streamIsThere = (nats: TestNats) =>
  until(
    () => withNats(nats, (_connection, manager) => manager.streams.info('noetl_commands')),
    () => true,
  );

/** Resolves when a worker waits for a notification. */
const listens = (nats: TestNats) =>
  until(
    () =>
      withNats(nats, (_connection, manager) => manager.consumers.info('noetl_commands', 'noetl_worker_pool_shared')),
    (info) => info.num_waiting > 0,
  );

it('a command that is issued wakes a worker that would not have asked', async () => {
  const nats = await startTestNats();
  const server = await announcing(nats);
  await streamIsThere(nats);
  await server.client.register(chain('wake/one', 3));
  startListening(server, nats, LONG_MS);
  await listens(nats);
  const { execution_id } = await server.client.execute({ path: 'wake/one' });
  await expectAllComplete(server.client, [execution_id]);
});

it('a command that one server issues wakes a worker of another', async () => {
  const nats = await startTestNats();
  const one = await announcing(nats);
  const two = await announcing(nats, one.database);
  await streamIsThere(nats);
  await one.client.register(chain('wake/across', 3));
  startListening(two, nats, LONG_MS);
  await listens(nats);
  const { execution_id } = await one.client.execute({ path: 'wake/across' });
  await expectAllComplete(one.client, [execution_id]);
});

it('a notification that arrives twice, or of a command that is done, does no harm', async () => {
  const nats = await startTestNats();
  const server = await announcing(nats);
  await streamIsThere(nats);
  await server.client.register(chain('wake/stale', 1));
  startListening(server, nats, LONG_MS);
  await listens(nats);
  await withNats(nats, async (_connection, manager) => {
    for (let n = 0; n < 3; n++) await manager.jetstream().publish('noetl.commands.shared.1', '{"event_id":1}');
  });
  const { execution_id } = await server.client.execute({ path: 'wake/stale' });
  await expectAllComplete(server.client, [execution_id]);
});

it('a command whose notification was lost is found all the same', async () => {
  const nats = await startTestNats();
  const server = await startTestServer();
  await withNats(nats, (_connection, manager) =>
    manager.streams.add({ name: 'noetl_commands', subjects: ['noetl.commands.>'] }),
  );
  await server.client.register(chain('wake/lost', 2));
  startListening(server, nats, 1_000);
  await listens(nats);
  const { execution_id } = await server.client.execute({ path: 'wake/lost' });
  await expectAllComplete(server.client, [execution_id]);
});

it('a worker works while NATS is away', async () => {
  const nats = await startTestNats();
  await nats.kill();
  const server = await startTestServer();
  await server.client.register(chain('wake/away', 2));
  startListening(server, nats, LONG_MS);
  const { execution_id } = await server.client.execute({ path: 'wake/away' });
  await expectAllComplete(server.client, [execution_id]);
});

it('a worker process with NOETL_COMMAND_TRANSPORT=nats is woken by a server process with the same', async () => {
  const nats = await startTestNats();
  const database = await ownDatabase();
  const settings = { NOETL_NATS_URL: nats.url, NOETL_COMMAND_TRANSPORT: 'nats' };
  Object.assign(process.env, settings);
  onTestFinished(() => {
    for (const name of Object.keys(settings)) delete process.env[name];
  });
  const server = startServerProcess(database.url, await freePort());
  const url = await server.ready;
  await streamIsThere(nats);
  const worker = startWorkerProcess(url, 'listener');
  await worker.ready;
  await listens(nats);
  const client = createClient({ baseUrl: url });
  await client.register(chain('wake/processes', 2));
  const { execution_id } = await client.execute({ path: 'wake/processes' });
  await expectAllComplete(client, [execution_id]);
  await worker.kill('SIGTERM');
  await server.kill('SIGTERM');
});
