// One execution with a very long log: a loop of 100,000 `noop` items, 64 at a time, through the real server and a worker over HTTP.
// Shown: items a second, how much the server's memory grows, and whether an event late in the log costs more than an early one.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createClient } from '../packages/client/dist/index.js';
import { startPostgres, startProcess } from './stack.mjs';

const ITEMS = 100_000;
const IN_FLIGHT = 64;
/** Events whose time is compared, and how many of them. */
const WINDOW = 5_000;
const EARLY = 1_000;
const LATE = 100_000;

const playbook = (path, items) => `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: loop, path: ${path} }
workflow:
  - step: start
    loop: { in: ${items}, iterator: n, spec: { mode: parallel, max_in_flight: ${IN_FLIGHT} } }
    tool: { kind: noop }
`;

export default async function loop({ say }) {
  const postgres = await startPostgres();
  const processes = [];
  const db = new pg.Client({ connectionString: postgres.url });
  try {
    const server = startProcess(['server', '--port', '0'], {
      env: { DATABASE_URL: postgres.url },
      ready: /Serving (\S+)/,
    });
    processes.push(server);
    const url = (await server.started)[1];
    const worker = startProcess(['worker', '--server', url, '--concurrency', String(2 * IN_FLIGHT)], {
      ready: /Working for/,
    });
    processes.push(worker);
    await worker.started;
    const client = createClient({ baseUrl: url });
    await db.connect();
    await client.register(playbook('bench/warmup', 5_000));
    await client.register(playbook('bench/loop', ITEMS));
    await end(db, (await client.execute({ path: 'bench/warmup' })).execution_id);
    const before = rssMb(server.pid);

    say(`${ITEMS} items, ${IN_FLIGHT} at a time …`);
    const started = performance.now();
    let peak = before;
    let over = false;
    const { execution_id: id } = await client.execute({ path: 'bench/loop' });
    const ended = end(db, id).finally(() => {
      over = true;
    });
    while (!over) {
      peak = Math.max(peak, rssMb(server.pid));
      await delay(250);
    }
    await ended;
    const seconds = (performance.now() - started) / 1000;
    const early = await windowMs(db, id, EARLY);
    const late = await windowMs(db, id, LATE);
    const last = await windowMs(db, id, 4 * LATE);
    const figures = {
      bench: 'loop',
      items: ITEMS,
      max_in_flight: IN_FLIGHT,
      items_per_second: Math.round(ITEMS / seconds),
      server_rss_before_mb: before,
      server_rss_peak_mb: peak,
      server_rss_growth_mb: peak - before,
      ms_per_event_early: early / WINDOW,
      ms_per_event_late: late / WINDOW,
      late_to_early_ratio: late / early,
      last_to_early_ratio: last / early,
    };
    say(`  ${figures.items_per_second} items/s; server memory ${before} -> ${peak} MB`);
    say(
      `  event ${EARLY}: ${(1000 * figures.ms_per_event_early).toFixed(0)} us, event ${LATE}: ${(1000 * figures.ms_per_event_late).toFixed(0)} us, ratio ${figures.late_to_early_ratio.toFixed(2)}`,
    );
    return figures;
  } finally {
    for (const started of processes.reverse()) await started.stop();
    await db.end();
    await postgres.stop();
  }
}

/** Asks the database and not the server, whose memory is being measured. */
async function end(db, id) {
  for (;;) {
    const { rows } = await db.query('SELECT status FROM noetl.execution WHERE execution_id = $1', [id]);
    const status = rows[0]?.status;
    if (status === 'COMPLETED') return;
    if (status !== 'RUNNING') throw new Error(`execution ${id} ended ${status}`);
    await delay(500);
  }
}

/** Time that passed in the log between two of its events. */
async function windowMs(db, id, from) {
  const { rows } = await db.query(
    `SELECT extract(epoch FROM max(ingest_time) - min(ingest_time)) * 1000 AS ms FROM noetl.event
     WHERE execution_id = $1 AND stream_version BETWEEN $2 AND $3`,
    [id, from, from + WINDOW],
  );
  return Number(rows[0].ms);
}

function rssMb(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
