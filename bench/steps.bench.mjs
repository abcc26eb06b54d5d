// How many steps a second, and how long one step takes, through the real server and a separate worker process over HTTP.
// The limit beside it: the very rows the run left behind, written again to the same PostgreSQL by a bare client, 200 steps (for the
// sequential figure: one step) in a transaction, with nothing decided, nothing locked and nobody asked.
import { loadavg } from 'node:os';
import pg from 'pg';
import { createClient } from '../packages/client/dist/index.js';
import { startPostgres, startProcess } from './stack.mjs';

const EXECUTIONS = 200;
const STEPS = 20;
const SEQUENTIAL_STEPS = 200;
const CONCURRENCY = 64;
/** Copies live beside the originals, in the id space of a machine number that nobody has. */
const COPY = 500 << 12;

export default async function steps({ args, say }) {
  const profile = args.find((arg) => arg.startsWith('--profile='))?.slice('--profile='.length);
  const postgres = await startPostgres();
  const processes = [];
  try {
    const server = startProcess(['server', '--port', '0'], { env: { DATABASE_URL: postgres.url }, ready: /Serving (\S+)/, profile });
    processes.push(server);
    const url = (await server.started)[1];
    const worker = startProcess(['worker', '--server', url, '--concurrency', String(CONCURRENCY)], { ready: /Working for/, profile });
    processes.push(worker);
    await worker.started;
    const client = createClient({ baseUrl: url });
    await client.register(chain('bench/warmup', 10));
    await client.register(chain('bench/steps', STEPS));
    await client.register(chain('bench/sequential', SEQUENTIAL_STEPS));
    await runMany(client, 'bench/warmup', 100);

    say(`${EXECUTIONS} executions x ${STEPS} steps …`);
    const many = await runMany(client, 'bench/steps', EXECUTIONS);
    say(`one execution x ${SEQUENTIAL_STEPS} steps …`);
    const one = await runMany(client, 'bench/sequential', 1);
    for (const started of processes.splice(0).reverse()) await started.stop();

    say('the same rows, bare …');
    const db = new pg.Client({ connectionString: postgres.url });
    await db.connect();
    let limitMany = 0;
    let limitOne = 0;
    let events = 0;
    try {
      limitMany = await writeBare(db, many.ids, EXECUTIONS * STEPS, 200);
      limitOne = await writeBare(db, one.ids, SEQUENTIAL_STEPS, 1);
      events = await countEvents(db, many.ids);
    } finally {
      await db.end();
    }

    const total = EXECUTIONS * STEPS;
    const figures = {
      steps_per_s: round(total / many.seconds),
      limit_steps_per_s: round(total / limitMany),
      ratio: round(limitMany / many.seconds, 3),
      sequential_ms_per_step: round((one.seconds * 1000) / SEQUENTIAL_STEPS, 3),
      limit_sequential_ms_per_step: round((limitOne * 1000) / SEQUENTIAL_STEPS, 3),
      sequential_ratio: round(one.seconds / limitOne, 3),
      events_per_s: round(events / many.seconds),
      executions: EXECUTIONS,
      steps: STEPS,
      load_average: loadavg()[0],
    };
    say(`${figures.steps_per_s} steps/s of ${figures.limit_steps_per_s} bare (ratio ${figures.ratio}), ${figures.events_per_s} events/s`);
    say(`${figures.sequential_ms_per_step} ms a sequential step, ${figures.limit_sequential_ms_per_step} ms bare (ratio ${figures.sequential_ratio})`);
    return figures;
  } finally {
    for (const started of processes.reverse()) await started.stop();
    await postgres.stop();
  }
}

function chain(path, count) {
  const steps = Array.from({ length: count }, (_, index) => {
    const next = index + 1 < count ? `\n    next: { arcs: [{ step: s${index + 1} }] }` : '';
    return `  - step: s${index}\n    tool: { kind: noop }${next}`;
  });
  return `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: bench, path: ${path} }\nexecutor: { spec: { entry_step: s0 } }\nworkflow:\n${steps.join('\n')}\n`;
}

/** From the first start to the last terminal event. */
async function runMany(client, path, count) {
  const began = performance.now();
  const batch = await client.executeBatch(Array.from({ length: count }, () => ({ path })));
  const ids = batch.results.map((result) => result.execution_id);
  // One stream that is open all the time, on the execution that started last; the others are asked when it is done.
  for await (const message of client.stream(ids[ids.length - 1])) void message;
  const open = new Set(ids);
  while (open.size > 0) {
    for (const id of [...open]) {
      const { status } = await client.cancellationCheck(id);
      if (status === 'COMPLETED') open.delete(id);
      else if (status !== 'RUNNING') throw new Error(`execution ${id} ended ${status}`);
      else break;
    }
  }
  return { ids, seconds: (performance.now() - began) / 1000 };
}

async function countEvents(db, ids) {
  const { rows } = await db.query('SELECT count(*)::int AS n FROM noetl.event WHERE execution_id = ANY ($1::bigint[])', [ids]);
  return rows[0].n;
}

/** Writes copies of the rows of these executions, `perTransaction` steps at a time; the seconds it took. */
async function writeBare(db, ids, steps, perTransaction) {
  await db.query('SET plan_cache_mode = force_generic_plan');
  // As text, so that the client sends the same bytes without parsing them: copies get ids of their own.
  const { rows: events } = await db.query({
    text: `SELECT (to_jsonb(e) - 'tx_id' - 'ingest_time' || jsonb_build_object('execution_id', e.execution_id + ${COPY}))::text AS row
           FROM noetl.event e WHERE execution_id = ANY ($1::bigint[]) ORDER BY stream_version, execution_id`,
    values: [ids],
  });
  const { rows: commands } = await db.query({
    text: `SELECT (to_jsonb(c) || jsonb_build_object('command_id', c.command_id || '+', 'event_id', c.event_id + ${COPY}, 'execution_id', c.execution_id + ${COPY}))::text AS row
           FROM noetl.command c WHERE execution_id = ANY ($1::bigint[]) ORDER BY event_id`,
    values: [ids],
  });
  await db.query(
    `INSERT INTO noetl.execution SELECT (jsonb_populate_record(NULL::noetl.execution, to_jsonb(x) || jsonb_build_object('execution_id', x.execution_id + ${COPY}))).*
     FROM noetl.execution x WHERE execution_id = ANY ($1::bigint[])`,
    [ids],
  );
  const batches = Math.ceil(steps / perTransaction);
  const slice = (rows, index) =>
    `[${rows.slice(Math.floor((index * rows.length) / batches), Math.floor(((index + 1) * rows.length) / batches)).map((item) => item.row).join(',')}]`;
  const work = Array.from({ length: batches }, (_, index) => [slice(events, index), slice(commands, index)]);
  const began = performance.now();
  for (const values of work) await db.query({ name: 'bare', text: BARE, values });
  return (performance.now() - began) / 1000;
}

const BARE = `
WITH e AS (
  INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, parent_event_id, parent_execution_id, event_type,
    node_id, node_name, node_type, status, command_id, worker_id, duration, context, result, meta, error, created_at)
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS v(
    execution_id bigint, event_id bigint, stream_version bigint, catalog_id bigint, parent_event_id bigint,
    parent_execution_id bigint, event_type text, node_id text, node_name text, node_type text, status text, command_id text,
    worker_id text, duration double precision, context jsonb, result jsonb, meta jsonb, error text, created_at timestamptz)
  RETURNING execution_id
), c AS (
  INSERT INTO noetl.command (command_id, event_id, execution_id, catalog_id, step_name, tool_kind, pool, status, attempt,
    max_attempts, worker_id, claim_token, lease_until, claimed_at, available_at, error, latest_event_id, started_at, completed_at)
  SELECT * FROM jsonb_to_recordset($2::jsonb) AS v(
    command_id text, event_id bigint, execution_id bigint, catalog_id bigint, step_name text, tool_kind text, pool text, status text,
    attempt int, max_attempts int, worker_id text, claim_token bigint, lease_until timestamptz, claimed_at timestamptz,
    available_at timestamptz, error text, latest_event_id bigint, started_at timestamptz, completed_at timestamptz)
)
UPDATE noetl.execution x SET head_version = head_version + 1, updated_at = now() WHERE execution_id IN (SELECT execution_id FROM e)`;

function round(value, digits = 0) {
  return Number(value.toFixed(digits));
}
