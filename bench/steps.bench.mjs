// How many steps a second, and how long one step takes, through the real server and a separate worker process over HTTP.
// The limit beside it: the very rows the run left behind, written again to the same PostgreSQL by a bare client that decides nothing and
// asks nobody: 200 steps in one statement, and for the sequential figure one plain transaction a step.
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createClient } from '../packages/client/dist/index.js';
import { EVENT_COLUMNS, EVENT_FIELDS } from '../packages/server/dist/log/store.js';
import { startPostgres, startProcess } from './stack.mjs';

const EXECUTIONS = 200;
const STEPS = 20;
const SEQUENTIAL_STEPS = 200;
const CONCURRENCY = 256;
const WARM_ROUNDS = 8;
/** Copies live beside the originals, in the id space of a machine number that nobody has. */
const COPY = 500 << 12;

export default async function steps({ args, say }) {
  const profile = args.find((arg) => arg.startsWith('--profile='))?.slice('--profile='.length);
  const postgres = await startPostgres();
  const processes = [];
  const db = new pg.Client({ connectionString: postgres.url });
  try {
    const server = startProcess(['server', '--port', '0'], {
      env: { DATABASE_URL: postgres.url },
      ready: /Serving (\S+)/,
      profile,
    });
    processes.push(server);
    const url = (await server.started)[1];
    const worker = startProcess(['worker', '--server', url, '--concurrency', String(CONCURRENCY)], {
      ready: /Working for/,
      profile,
    });
    processes.push(worker);
    await worker.started;
    const client = createClient({ baseUrl: url });
    await db.connect();
    await client.register(chain('bench/warmup', 10));
    await client.register(chain('bench/steps', STEPS));
    await client.register(chain('bench/sequential', SEQUENTIAL_STEPS));
    // Warm code on both sides of the wire, in both ways of running: a server that has been up for a minute is what we measure.
    await runMany(client, db, 'bench/warmup', 300);
    for (let round = 0; round < WARM_ROUNDS; round++) await runMany(client, db, 'bench/sequential', 1);

    say(`${EXECUTIONS} executions x ${STEPS} steps …`);
    const many = await runMany(client, db, 'bench/steps', EXECUTIONS);
    say(`one execution x ${SEQUENTIAL_STEPS} steps …`);
    const one = await runMany(client, db, 'bench/sequential', 1);
    for (const started of processes.splice(0).reverse()) await started.stop();

    say('the same rows, bare …');
    const limitMany = await writeBare(db, many.ids, EXECUTIONS * STEPS, 200, inOneStatement);
    const limitOne = await writeBare(db, one.ids, SEQUENTIAL_STEPS, 1, inOneTransaction);
    const events = await countEvents(db, many.ids);
    const limitOneStatement = await writeBare(db, one.ids, SEQUENTIAL_STEPS, 1, inOneStatement, 2 * COPY);

    const total = EXECUTIONS * STEPS;
    const figures = {
      steps_per_s: round(total / many.seconds),
      limit_steps_per_s: round(total / limitMany),
      ratio: round(limitMany / many.seconds, 3),
      sequential_ms_per_step: round((one.seconds * 1000) / SEQUENTIAL_STEPS, 3),
      limit_sequential_ms_per_step: round((limitOne * 1000) / SEQUENTIAL_STEPS, 3),
      sequential_ratio: round(one.seconds / limitOne, 3),
      one_statement_ms_per_step: round((limitOneStatement * 1000) / SEQUENTIAL_STEPS, 3),
      events_per_s: round(events / many.seconds),
      executions: EXECUTIONS,
      steps: STEPS,
      load_average: loadavg()[0],
    };
    say(
      `${figures.steps_per_s} steps/s of ${figures.limit_steps_per_s} bare (ratio ${figures.ratio}), ${figures.events_per_s} events/s`,
    );
    say(
      `${figures.sequential_ms_per_step} ms a sequential step, ${figures.limit_sequential_ms_per_step} ms bare (ratio ${figures.sequential_ratio}; ${figures.one_statement_ms_per_step} ms as one statement)`,
    );
    return figures;
  } finally {
    await db.end().catch(() => undefined);
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

/** From the request that starts them to the last terminal event, by the one clock of this machine. */
async function runMany(client, db, path, count) {
  const began = Date.now();
  const batch = await client.executeBatch(Array.from({ length: count }, () => ({ path })));
  const ids = batch.results.map((result) => result.execution_id);
  for (;;) {
    // Asked rarely and straight from the database: watching must not slow what is watched.
    await delay(50);
    const { rows } = await db.query(
      `SELECT count(*) FILTER (WHERE status = 'COMPLETED')::int AS completed, count(*) FILTER (WHERE status IN ('FAILED', 'CANCELLED'))::int AS failed,
         extract(epoch FROM max(end_time)) * 1000 AS ended FROM noetl.execution WHERE execution_id = ANY ($1::bigint[])`,
      [ids],
    );
    const { completed, failed, ended } = rows[0];
    if (failed > 0) throw new Error(`${failed} executions of ${path} failed`);
    if (completed === count) return { ids, seconds: (Number(ended) - began) / 1000 };
  }
}

async function countEvents(db, ids) {
  const { rows } = await db.query(
    'SELECT count(*)::int AS n FROM noetl.event WHERE execution_id = ANY ($1::bigint[])',
    [ids],
  );
  return rows[0].n;
}

/** Writes copies of the rows of these executions, `perTransaction` steps at a time; the seconds it took. */
async function writeBare(db, ids, steps, perTransaction, write, offset = COPY) {
  await db.query('SET plan_cache_mode = force_generic_plan');
  // As text, so that the client sends ready bytes: nothing is computed while the clock runs.
  const { rows: events } = await db.query(
    `SELECT jsonb_build_array(${EVENT_COLUMNS.map(([name]) => (name === 'execution_id' ? `${name} + ${offset}` : name)).join(', ')})::text AS row
     FROM noetl.event WHERE execution_id = ANY ($1::bigint[]) ORDER BY stream_version, execution_id`,
    [ids],
  );
  const { rows: commands } = await db.query(
    `SELECT (to_jsonb(c) || jsonb_build_object('event_id', c.event_id + ${offset}, 'execution_id', c.execution_id + ${offset}))::text AS row
     FROM noetl.command c WHERE execution_id = ANY ($1::bigint[]) ORDER BY event_id`,
    [ids],
  );
  await db.query(
    `INSERT INTO noetl.execution SELECT (jsonb_populate_record(NULL::noetl.execution, to_jsonb(x) || jsonb_build_object('execution_id', x.execution_id + ${offset}))).*
     FROM noetl.execution x WHERE execution_id = ANY ($1::bigint[])`,
    [ids],
  );
  const batches = Math.ceil(steps / perTransaction);
  const slice = (rows, index) =>
    `[${rows
      .slice(Math.floor((index * rows.length) / batches), Math.floor(((index + 1) * rows.length) / batches))
      .map((item) => item.row)
      .join(',')}]`;
  const work = Array.from({ length: batches }, (_, index) => [slice(events, index), slice(commands, index)]);
  const began = performance.now();
  for (const [eventRows, commandRows] of work) await write(db, eventRows, commandRows);
  return (performance.now() - began) / 1000;
}

const INSERT_EVENTS = `INSERT INTO noetl.event (${EVENT_COLUMNS.map(([name]) => name).join(', ')}) SELECT ${EVENT_FIELDS} FROM jsonb_array_elements($1::jsonb) AS t(v)`;
const insertCommands = (parameter) => `
  INSERT INTO noetl.command (command_id, event_id, execution_id, catalog_id, step_name, tool_kind, pool, status, attempt,
    max_attempts, worker_id, claim_token, lease_until, claimed_at, available_at, error, latest_event_id, started_at, completed_at)
  SELECT * FROM jsonb_to_recordset(${parameter}::jsonb) AS v(
    command_id text, event_id bigint, execution_id bigint, catalog_id bigint, step_name text, tool_kind text, pool text, status text,
    attempt int, max_attempts int, worker_id text, claim_token bigint, lease_until timestamptz, claimed_at timestamptz,
    available_at timestamptz, error text, latest_event_id bigint, started_at timestamptz, completed_at timestamptz)`;
const MOVE = 'UPDATE noetl.execution SET head_version = head_version + 1, updated_at = now() WHERE execution_id IN';
const ONE_STATEMENT = `WITH e AS (${INSERT_EVENTS} RETURNING execution_id), c AS (${insertCommands('$2')}) ${MOVE} (SELECT execution_id FROM e)`;

function inOneStatement(db, events, commands) {
  return db.query({ name: 'bare-statement', text: ONE_STATEMENT, values: [events, commands] });
}

/** As a plain client writes it: begin, lock, three writes, commit. */
async function inOneTransaction(db, events, commands) {
  const id = /^\[\[(\d+)/.exec(events)[1];
  await db.query('BEGIN');
  await db.query({
    name: 'bare-lock',
    text: 'SELECT head_version FROM noetl.execution WHERE execution_id = $1 FOR UPDATE',
    values: [id],
  });
  await db.query({ name: 'bare-events', text: INSERT_EVENTS, values: [events] });
  await db.query({ name: 'bare-commands', text: insertCommands('$1'), values: [commands] });
  await db.query({ name: 'bare-move', text: `${MOVE} ($1)`, values: [id] });
  await db.query('COMMIT');
}

function round(value, digits = 0) {
  return Number(value.toFixed(digits));
}
