// How many events a second go through the tailer, beside the limit: the very same bytes under the same subjects, published by a bare client
// that reads nothing, remembers nothing and only keeps as many acknowledgements in flight. Both write to file streams of one nats-server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { startPostgres, startProcess } from './stack.mjs';

const IN_FLIGHT = 1_024;
/** Both take turns, so that whatever else the machine does hits both. The first round warms the code and is not counted. */
const ROUNDS = 6;

export default async function stream({ args, say }) {
  const count = Number(args.find((arg) => arg.startsWith('--events='))?.slice('--events='.length) ?? 30_000);
  const postgres = await startPostgres();
  const nats = await startNats();
  const db = new pg.Client({ connectionString: postgres.url });
  let server;
  let connection;
  try {
    const env = { DATABASE_URL: postgres.url, NOETL_NATS_URL: nats.url, NOETL_EVENT_STREAM_ENABLED: 'true' };
    server = startProcess(['server', '--port', '0'], { env, ready: /Serving (\S+)/ });
    await server.started;
    await db.connect();
    connection = await connect({ servers: nats.url, noAsyncTraces: true });
    const manager = await jetstreamManager(connection);
    await manager.streams.add({
      name: 'bare',
      subjects: ['bare.>'],
      storage: 'file',
      duplicate_window: 120e9,
      max_age: 86_400e9,
    });

    const rounds = [];
    let bytes = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await writeEvents(db, count);
      await holds(manager, 'noetl_events', (round + 1) * count);
      const tailed = await rate(manager, 'noetl_events', round * count + 1, (round + 1) * count);
      const messages = await messagesOf(manager, 'noetl_events', round * count + 1, count);
      bytes = messages.reduce((sum, message) => sum + message.body.length, 0);
      await publishBare(manager.jetstream(), messages);
      const bare = await rate(manager, 'bare', round * count + 1, (round + 1) * count);
      say(`${Math.round(tailed)} events/s of ${Math.round(bare)} bare${round === 0 ? ' (warm-up)' : ''}`);
      if (round > 0) rounds.push({ tailed, bare, ratio: tailed / bare });
    }

    const middle = rounds.sort((a, b) => a.ratio - b.ratio)[Math.floor(rounds.length / 2)];
    const figures = {
      events_per_s: Math.round(middle.tailed),
      limit_events_per_s: Math.round(middle.bare),
      ratio: Number(middle.ratio.toFixed(3)),
      events: rounds.length * count,
      bytes_per_event: Math.round(bytes / count),
      load_average: loadavg()[0],
    };
    say(`the middle of ${rounds.length} rounds: ratio ${figures.ratio}, ${figures.bytes_per_event} bytes an event`);
    return figures;
  } finally {
    await connection?.close();
    await server?.stop();
    await db.end().catch(() => undefined);
    await nats.stop();
    await postgres.stop();
  }
}

/** All in one transaction, so that they are there at once; contexts of the size that steps have. */
async function writeEvents(db, count) {
  const first = String((BigInt(Date.now()) - 1_704_067_200_000n) << 22n);
  await db.query(
    `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, node_name, status, command_id, context, meta)
     SELECT $1::bigint + n / 50, $1::bigint + n, n + 1, 1, (ARRAY['command.issued', 'command.claimed', 'call.done', 'command.completed'])[n % 4 + 1],
       'step_' || n % 20, 'COMPLETED', $1 || ':step:' || n,
       jsonb_build_object('tool_config', jsonb_build_object('kind', 'http', 'url', 'https://api.example.com/orders/' || n, 'method', 'GET'),
         'args', jsonb_build_object('customer', 'customer-' || n, 'note', repeat('x', 300))),
       jsonb_build_object('attempt', 1, 'step', 'step_' || n % 20)
     FROM generate_series(0, $2::int - 1) AS n`,
    [first, count],
  );
}

async function holds(manager, name, sequence) {
  for (;;) {
    const info = await manager.streams.info(name).catch(() => undefined);
    if ((info?.state.last_seq ?? 0) >= sequence) return;
    await delay(100);
  }
}

/** Messages a second, by the stream's own clock. */
async function rate(manager, name, first, last) {
  const timeOf = async (seq) => (await manager.streams.getMessage(name, { seq })).time.getTime();
  return ((last - first) * 1000) / ((await timeOf(last)) - (await timeOf(first)));
}

async function messagesOf(manager, name, first, count) {
  const consumer = await manager.jetstream().consumers.get(name, { opt_start_seq: first });
  const messages = [];
  for await (const message of await consumer.consume({ max_messages: 5_000 })) {
    const subject = message.subject.replace('noetl.events', 'bare.event');
    messages.push({ subject, body: message.data.slice(), id: message.headers.get('Nats-Msg-Id') });
    if (messages.length >= count) break;
  }
  return messages;
}

async function publishBare(stream, messages) {
  let next = 0;
  const lane = async () => {
    while (next < messages.length) {
      const { subject, body, id } = messages[next++];
      await stream.publish(subject, body, { msgID: id });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function startNats() {
  const store = mkdtempSync(join(tmpdir(), 'noetl-bench-nats-'));
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  const child = spawn('nats-server', ['-js', '-sd', store, '-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const url = `nats://127.0.0.1:${port}`;
  await (await connect({ servers: url, waitOnFirstConnect: true, reconnectTimeWait: 100 })).close();
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      rmSync(store, { recursive: true, force: true });
    },
  };
}
