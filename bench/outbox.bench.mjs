// How fast the outbox hands rows out and takes their marks, beside two job queues on the same PostgreSQL that do the same with their jobs:
// fetch, do nothing, complete. Each in its own best way: 256 rows a claim here and in pg-boss, the local queue and batched completion in
// graphile-worker. They take turns, and the median counts: the machine is never equally quiet twice. What they keep differs: here every row
// stays, published, with its lease and its token; graphile-worker deletes.
import { loadavg } from 'node:os';
import { run as runGraphile } from 'graphile-worker';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { migrate, openPools } from '../packages/server/dist/db/index.js';
import { createOutbox } from '../packages/server/dist/outbox/index.js';
import { startPostgres } from './stack.mjs';

const CLAIMERS = 4;
/** As many as the publisher of the server claims at once. */
const BATCH = 256;
const ROUNDS = 5;
const WARMUP = 2_000;

export default async function outbox({ args, say }) {
  const rows = Number(args.find((arg) => arg.startsWith('--rows='))?.slice('--rows='.length) ?? 10_000);
  const postgres = await startPostgres();
  const queues = [];
  try {
    for (const open of [openOutbox, openGraphile, openBoss]) queues.push(await open(postgres.url));
    for (const queue of queues) await queue.drained(WARMUP);
    for (let round = 1; round <= ROUNDS; round++) {
      for (const queue of queues) queue.rates.push(Math.round(rows / (await queue.drained(rows))));
      say(`round ${round}: ${queues.map((queue) => `${queue.name} ${queue.rates.at(-1)}/s`).join(', ')}`);
    }
    const [ours, graphile, boss] = queues.map((queue) => median(queue.rates));
    return {
      outbox_rows_per_s: ours,
      graphile_worker_jobs_per_s: graphile,
      pg_boss_jobs_per_s: boss,
      ratio_to_graphile_worker: Number((ours / graphile).toFixed(2)),
      ratio_to_pg_boss: Number((ours / boss).toFixed(2)),
      rows,
      rounds: ROUNDS,
      claimers: CLAIMERS,
      load_average: loadavg()[0],
    };
  } finally {
    for (const queue of queues) await queue.close();
    await postgres.stop();
  }
}

// Each queue: `drained(count)` fills it with so many and answers the seconds from then until all are done.

async function openOutbox(url) {
  const pools = openPools({
    shards: [url],
    maxConnections: 10,
    acquireTimeoutMs: 30_000,
    onIdleError: () => undefined,
  });
  await migrate(pools.cluster);
  const ignore = () => undefined;
  const metrics = { claimed: ignore, published: ignore, failed: ignore, recovered: ignore, died: ignore };
  const box = createOutbox({ pools, settings: { leaseMs: 60_000, maxAttempts: 20 }, metrics });
  const drain = async (owner) => {
    for (;;) {
      const claimed = await box.claim({ audience: 'publishers', limit: BATCH, owner });
      if (claimed.length === 0) return;
      await box.markPublished(claimed.map((row) => ({ outboxId: row.outbox_id, token: row.lock_token })));
    }
  };
  return {
    name: 'outbox',
    rates: [],
    async drained(count) {
      await pools.cluster.query(
        `INSERT INTO noetl.outbox (event_id, execution_id, subject, payload)
         SELECT n, n, 'noetl.events.bench', jsonb_build_object('n', n) FROM generate_series(1, $1::int) AS n`,
        [count],
      );
      return seconds(() => Promise.all(Array.from({ length: CLAIMERS }, (_, index) => drain(`bench-${index}`))));
    },
    close: () => pools.close(),
  };
}

async function openGraphile(url) {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  let left = 0;
  let finished = () => undefined;
  const noop = () => {
    left -= 1;
    if (left === 0) finished();
  };
  const runner = await runGraphile({
    pgPool: pool,
    noHandleSignals: true,
    taskList: { noop },
    preset: {
      worker: {
        concurrentJobs: 24,
        pollInterval: 100,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    logger: quietLogger(),
  });
  return {
    name: 'graphile-worker',
    rates: [],
    async drained(count) {
      left = count;
      const done = new Promise((resolve) => {
        finished = resolve;
      });
      await pool.query(
        `SELECT count(*) FROM (SELECT graphile_worker.add_job('noop', json_build_object('n', n)) FROM generate_series(1, $1::int) AS n) AS added`,
        [count],
      );
      return seconds(() => done);
    },
    async close() {
      await runner.stop();
      await pool.end();
    },
  };
}

async function openBoss(url) {
  const boss = new PgBoss({ connectionString: url, max: 10, schedule: false, supervise: false });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.createQueue('bench');
  const drain = async () => {
    for (;;) {
      const jobs = await boss.fetch('bench', { batchSize: BATCH });
      if (jobs.length === 0) return;
      const ids = jobs.map((job) => job.id);
      await boss.complete('bench', ids);
    }
  };
  return {
    name: 'pg-boss',
    rates: [],
    async drained(count) {
      for (let at = 0; at < count; at += 1_000) {
        const jobs = Array.from({ length: Math.min(1_000, count - at) }, (_, n) => ({ name: 'bench', data: { n } }));
        await boss.insert(jobs);
      }
      return seconds(() => Promise.all(Array.from({ length: CLAIMERS }, drain)));
    },
    close: () => boss.stop({ graceful: false }),
  };
}

function quietLogger() {
  const quiet = { error: console.error, warn: () => undefined, info: () => undefined, debug: () => undefined };
  return { ...quiet, scope: () => quietLogger() };
}

async function seconds(work) {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
