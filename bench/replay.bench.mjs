// How fast a log becomes a state, on one core: events that are in memory, folded one by one, with the state, its seven checksums and the
// text of the answer taken at the end of every log. Beside it: the same events from JSON text, which is what a reader of the log has, one
// log of a million events that is never in memory as a whole, and such logs in Postgres, asked for over HTTP.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import {
  foldReplayEvent,
  idFromTimestampMs,
  parseExactJson,
  replayBody,
  startReplay,
  stringifyJson,
  takeReplayState,
} from '../packages/core/dist/index.js';
import { startPostgres, startProcess } from './stack.mjs';

const EVENTS = 10_000;
const WARM_LOGS = 10;
const LOGS = 40;
const LONG_LOG = 1_000_000;

const SUBJECT = {
  tenant_id: 'default',
  organization_id: 'default',
  execution_id: '320816801799737344',
  projection: 'all',
};

/** Each part returns the figures it adds. */
const PARTS = [inMemory, fromText, longLog, fromPostgres];

export default async function replay({ say }) {
  const figures = {};
  for (const part of PARTS) Object.assign(figures, await part(say));
  return { ...figures, events: EVENTS, logs: LOGS, load_average: loadavg()[0] };
}

function inMemory(say) {
  const log = [...eventsOfRun(EVENTS)];
  const foldOnly = medianOf(() => foldAll(log));
  const whole = medianOf(() => replayBody(takeReplayState(foldAll(log), SUBJECT)));
  const figures = {
    events_per_s: perSecond(EVENTS, whole.seconds),
    events_per_cpu_s: perSecond(EVENTS, whole.cpuSeconds),
    fold_events_per_s: perSecond(EVENTS, foldOnly.seconds),
    body_bytes: replayBody(takeReplayState(foldAll(log), SUBJECT)).length,
  };
  say(
    `${figures.events_per_s} events/s to a state with checksums and its text of ${figures.body_bytes} bytes (${figures.events_per_cpu_s} a second of processor time)`,
  );
  say(`${figures.fold_events_per_s} events/s for the fold alone`);
  return figures;
}

function fromText(say) {
  const lines = [...eventsOfRun(EVENTS)].map((event) => stringifyJson(event));
  const { seconds } = medianOf(() => {
    const fold = startReplay();
    for (const line of lines) foldReplayEvent(fold, parseExactJson(line));
    return replayBody(takeReplayState(fold, SUBJECT));
  });
  const figures = { text_events_per_s: perSecond(EVENTS, seconds) };
  say(`${figures.text_events_per_s} events/s from JSON text`);
  return figures;
}

/** The log is made in pieces while it is folded: what stays in memory is the state. Only the folding is timed. */
function longLog(say) {
  const fold = startReplay();
  let seconds = 0;
  for (const events of inPieces(eventsOfRun(LONG_LOG))) {
    const began = performance.now();
    for (const event of events) foldReplayEvent(fold, event);
    seconds += (performance.now() - began) / 1000;
  }
  const began = performance.now();
  const { event_count, commands } = takeReplayState(fold, SUBJECT);
  const figures = {
    long_events: event_count,
    long_fold_events_per_s: perSecond(LONG_LOG, seconds),
    long_state_s: Number(((performance.now() - began) / 1000).toFixed(2)),
    long_resident_mb: Math.round(process.memoryUsage().rss / 2 ** 20),
  };
  say(
    `${figures.long_fold_events_per_s} events/s for one log of ${event_count}, ${figures.long_state_s} s for its state of ${commands.size} commands, ${figures.long_resident_mb} MB resident`,
  );
  return figures;
}

/**
 * A server process of its own, and logs of a million events in its database. The one has few commands with much to report, so its state is
 * small; the other issues a command every seven events, and its state is as large as such a run makes it.
 */
async function fromPostgres(say) {
  const postgres = await startPostgres();
  const server = startProcess(['server', '--port', '0'], {
    env: { DATABASE_URL: postgres.url },
    ready: /(http:\/\/127\.0\.0\.1:\d+)/,
  });
  try {
    const [, url] = await server.started;
    const ids = await insertLogs(postgres.url);
    const narrow = await timed(url, ids.narrow);
    await snapshotStored(postgres.url, ids.narrow);
    const first = [];
    for (let run = 0; run < 20; run++) first.push((await timed(url, ids.narrow)).firstByteMs);
    const peakNarrow = peakMemory(server.pid);
    const wide = await timed(url, ids.wide);
    const figures = {
      postgres_events_per_s: perSecond(LONG_LOG, narrow.seconds),
      seeded_first_byte_ms: Math.round(first.sort((a, b) => a - b)[10] * 10) / 10,
      postgres_peak_mb: peakNarrow,
      wide_events_per_s: perSecond(LONG_LOG, wide.seconds),
      wide_body_mb: Math.round(wide.bytes / 2 ** 20),
      wide_peak_mb: peakMemory(server.pid),
    };
    say(
      `${figures.postgres_events_per_s} events/s from Postgres over HTTP, one log of ${LONG_LOG}, server at ${figures.postgres_peak_mb} MB at most`,
    );
    say(`${figures.seeded_first_byte_ms} ms to the first byte of the same log with a stored state`);
    say(
      `${figures.wide_events_per_s} events/s for a log with a state of ${figures.wide_body_mb} MB, server at ${figures.wide_peak_mb} MB at most`,
    );
    return figures;
  } finally {
    await server.stop();
    await postgres.stop();
  }
}

async function insertLogs(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const now = BigInt(idFromTimestampMs(Date.now()));
  const ids = { narrow: now, wide: now + 10_000_000n };
  for (const [name, id] of Object.entries(ids)) {
    await client.query(
      `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, node_name, status, command_id, worker_id, meta)
       SELECT $1::bigint, $1::bigint + n, n, 1,
         (ARRAY['step.enter', 'command.issued', 'command.claimed', 'command.started', 'command.progress', 'call.done', 'command.completed'])[n % 7 + 1],
         'step_' || n / 7 % 50, 'RUNNING', c, 'worker-1',
         jsonb_build_object('command_id', c, 'attempt', 1, 'pool', 'shared', 'n', n, 'loop_id', 'step_' || n / 7 % 20, 'actionable', true)
       FROM (SELECT n, $1::text || ':step:' || n / 7 % $3 AS c FROM generate_series(1, $2::int) AS n) AS events`,
      [id.toString(), LONG_LOG, name === 'narrow' ? 200 : LONG_LOG],
    );
  }
  await client.query('VACUUM ANALYZE noetl.event');
  await client.end();
  return ids;
}

async function timed(url, id) {
  const began = performance.now();
  const response = await fetch(`${url}/api/replay/state?execution_id=${id}&limit=all`);
  const reader = response.body.getReader();
  let bytes = (await reader.read()).value.length;
  const firstByteMs = performance.now() - began;
  for (let part = await reader.read(); !part.done; part = await reader.read()) bytes += part.value.length;
  return { firstByteMs, bytes, seconds: (performance.now() - began) / 1000 };
}

async function snapshotStored(url, id) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const sql = 'SELECT 1 FROM noetl.projection_snapshot WHERE aggregate_id LIKE $1';
  while ((await client.query(sql, [`execution/${id}/%`])).rowCount === 0) await delay(50);
  await client.end();
}

function peakMemory(pid) {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

function* inPieces(events) {
  let piece = [];
  for (const event of events) {
    piece.push(event);
    if (piece.length < EVENTS) continue;
    yield piece;
    piece = [];
  }
  yield piece;
}

function foldAll(events) {
  const fold = startReplay();
  for (const event of events) foldReplayEvent(fold, event);
  return fold;
}

/** Of warm runs; the median, because a pause of the machine is not the code's. Processor time shows what others took on a shared machine. */
function medianOf(run) {
  for (let log = 0; log < WARM_LOGS; log++) run();
  const runs = Array.from({ length: LOGS }, () => {
    const cpu = process.cpuUsage();
    const began = performance.now();
    run();
    const seconds = (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    return { seconds, cpuSeconds: (user + system) / 1e6 };
  });
  const median = (name) => runs.map((one) => one[name]).sort((a, b) => a - b)[LOGS / 2];
  return { seconds: median('seconds'), cpuSeconds: median('cpuSeconds') };
}

function perSecond(count, seconds) {
  return Math.round(count / seconds);
}

/** A run as the engine writes it: steps of seven events, every fourth step an item of a loop, some results kept by reference, some objects. */
function* eventsOfRun(count) {
  const first = 320816801799737344n;
  for (let index = 0; index < count; index++) {
    const visit = Math.floor(index / SHAPES.length);
    const step = `step_${visit % 50}`;
    const loop = visit % 4 === 0 ? { loop_id: `${step}:1`, collection_size: 100 } : {};
    const issued = first + BigInt(visit * SHAPES.length + 1);
    const command_id = `${SUBJECT.execution_id}:${step}:${issued}`;
    yield {
      event_id: (first + BigInt(index)).toString(),
      node_name: step,
      ...SHAPES[index % SHAPES.length]({ command_id, loop, visit }),
    };
  }
}

const SHAPES = [
  ({ loop }) => ({
    event_type: 'step.enter',
    status: 'ENTERED',
    meta: { emitted_by: 'orchestrator', run: 1, ...loop },
  }),
  ({ command_id, loop }) => ({
    event_type: 'command.issued',
    status: 'PENDING',
    command_id,
    meta: { command_id, tool_kind: 'python', max_attempts: 3, attempt: 1, actionable: true, pool: 'shared', ...loop },
  }),
  ({ command_id }) => ({
    event_type: 'command.claimed',
    status: 'RUNNING',
    command_id,
    worker_id: 'worker-1',
    result: { status: 'RUNNING', context: { command_id, worker_id: 'worker-1' } },
    meta: { command_id, worker_id: 'worker-1', claim_token: 1, informative: true },
  }),
  ({ command_id }) => ({ event_type: 'command.started', status: 'STARTED', command_id, meta: { command_id } }),
  ({ command_id, visit }) => ({
    event_type: 'call.done',
    status: 'COMPLETED',
    command_id,
    result:
      visit % 10 === 0
        ? { status: 'COMPLETED', reference: { ref: `noetl://result/${visit}`, sha256: 'c0ffee', row_count: visit } }
        : {
            status: 'COMPLETED',
            context: { command_id, result: { status: 'success', context: { data: { n: visit } } } },
          },
    meta: {
      command_id,
      duration_ms: 12,
      ...(visit % 20 === 0 ? { business_object: { type: 'order', id: visit % 400, patch: { amount: visit } } } : {}),
    },
  }),
  ({ command_id, loop }) => ({
    event_type: 'command.completed',
    status: 'success',
    command_id,
    meta: { command_id, ...loop },
  }),
  () => ({ event_type: 'next.evaluated', status: 'EVALUATED', meta: { emitted_by: 'orchestrator', run: 1 } }),
];
