// What must be true of cursor loops in any log that ended: windows hold, and each row that was claimed is given to one body.
import type { EventRow } from '../row.js';
import type { RandomGraph, StepPlan } from './graphs.js';
import { CLOSING, detailOf, ensure, FORKED, metaOf, moves, objectOf } from './rows.js';
import { rowsAnswered, rowsGiven, type TablePlan } from './tables.js';

interface Visit {
  readonly table: TablePlan;
  readonly claims: Map<string, number>;
  /** Rows of each open frame that no body has ended with yet. */
  readonly frames: Map<number, Set<number>>;
  /** What each open body was given. */
  readonly bodies: Map<string, { readonly frame: number; readonly rows: readonly number[] }>;
  readonly answers: Map<string, readonly number[]>;
  /** Rows that a body was given, and that need not run again. */
  readonly ran: Set<number>;
  /** Of the copied part of a fork nothing is asked but its rows: failures that it leaves out would have made room. */
  copied: boolean;
  succeeded: number;
  failed: number;
  claimFailed: boolean;
  done: boolean;
}

export function checkCursors(graph: RandomGraph, log: readonly EventRow[]): void {
  const tables = new Map(graph.plans.filter(({ table }) => table !== undefined).map((plan) => [plan.name, plan]));
  if (tables.size === 0) return;
  const visits = new Map<string, Visit>();
  const isFork = log.some((row) => row.event_type === FORKED && moves(row));
  let copied = isFork;
  for (const row of log) {
    if (!moves(row)) continue;
    const step = row.node_name ?? '';
    const plan = tables.get(step);
    try {
      if (row.event_type === FORKED) {
        copied = false;
        for (const visit of visits.values()) reopen(visit);
      } else if (plan !== undefined) check(visits, plan, row, copied);
    } catch (error) {
      throw new Error(`version ${row.stream_version}, step '${step}': ${(error as Error).message}`);
    }
  }
}

function check(visits: Map<string, Visit>, { name, table }: StepPlan, row: EventRow, copied: boolean): void {
  if (row.event_type === 'step.enter' && table !== undefined) {
    visits.set(name, enter(table, row, copied));
    return;
  }
  const visit = visits.get(name);
  if (visit === undefined || visit.done) return;
  const id = row.command_id ?? '';
  if (row.event_type === 'command.issued') return issue(visit, id, row);
  if (row.event_type === 'command.claimed') visit.answers.delete(id);
  if (row.event_type === 'call.done') {
    const { data } = objectOf(objectOf(detailOf(row).result).context);
    if (visit.claims.has(id)) visit.answers.set(id, rowsAnswered(data ?? null));
  }
  if (CLOSING.has(row.event_type)) close(visit, id, row);
  if (row.event_type === 'loop.done') end(visit, row);
}

function enter(table: TablePlan, row: EventRow, copied: boolean): Visit {
  const start = objectOf(detailOf(row).frame);
  ensure(start.maxRows === table.maxRows, `it claims ${start.maxRows} rows`);
  ensure(start.rowConcurrency === table.rowConcurrency, `it runs ${start.rowConcurrency} rows of a frame`);
  ensure(start.process === table.process, `it goes by ${start.process}`);
  return {
    table,
    claims: new Map(),
    frames: new Map(),
    bodies: new Map(),
    answers: new Map(),
    ran: new Set(),
    copied,
    succeeded: 0,
    failed: 0,
    claimFailed: false,
    done: false,
  };
}

function issue(visit: Visit, id: string, row: EventRow): void {
  const { table, claims, frames, bodies, ran } = visit;
  const { phase, frame } = objectOf(metaOf(row).cursor);
  const stopped = visit.claimFailed || (visit.failed > 0 && table.model.onError !== 'continue');
  ensure(!stopped, 'it goes on although it must stop');
  if (phase === 'claim') {
    ensure(visit.copied || claims.size + frames.size < table.lanes, `${claims.size + frames.size + 1} frames are open`);
    claims.set(id, Number(frame));
    return;
  }
  const rows = rowsGiven(row);
  const open = [...bodies.values()].filter((body) => body.frame === frame).length;
  const most = table.process === 'frame' ? 1 : table.rowConcurrency;
  ensure(visit.copied || open < most, `${open + 1} bodies of frame ${frame} run at once`);
  const lanes = new Set([...bodies.values()].map((body) => body.frame).concat(Number(frame))).size;
  ensure(visit.copied || lanes <= table.lanes, `bodies of ${lanes} frames run at once`);
  for (const number of rows) {
    ensure(frames.get(Number(frame))?.has(number) === true, `row ${number} is not in frame ${frame}`);
    ensure(!ran.has(number), `row ${number} runs twice`);
    ran.add(number);
  }
  bodies.set(id, { frame: Number(frame), rows });
}

function close(visit: Visit, id: string, row: EventRow): void {
  const { claims, frames, bodies } = visit;
  const ok = row.event_type === 'command.completed' && row.status === 'success';
  const claimed = claims.get(id);
  if (claimed !== undefined) {
    claims.delete(id);
    const rows = visit.answers.get(id) ?? [];
    if (!ok) visit.claimFailed = true;
    else if (rows.length > 0) frames.set(claimed, new Set(rows));
    return;
  }
  const body = bodies.get(id);
  if (body === undefined) throw new Error(`${id} was closed, but is no part of the loop`);
  bodies.delete(id);
  const left = frames.get(body.frame);
  for (const number of body.rows) left?.delete(number);
  if (left?.size === 0) frames.delete(body.frame);
  if (ok) visit.succeeded++;
  else visit.failed++;
}

function end(visit: Visit, row: EventRow): void {
  const { table, claims, frames, bodies, ran, succeeded, failed } = visit;
  visit.done = true;
  ensure(claims.size === 0 && bodies.size === 0, 'the loop ended while something was open');
  const detail = detailOf(row);
  const counted = [detail.iterations_expected, detail.succeeded, detail.failed].join();
  ensure(counted === [succeeded + failed, succeeded, failed].join(), `it counts ${counted}`);
  const stopped = visit.claimFailed || (failed > 0 && table.model.onError !== 'continue');
  ensure(row.status === (stopped ? 'FAILED' : 'COMPLETED'), `it ended ${row.status}`);
  if (stopped) return;
  ensure(frames.size === 0, 'rows were claimed that never ran');
  ensure(ran.size === table.rows, `${ran.size} of ${table.rows} rows ran`);
}

/** What was open when the log was forked begins again. */
function reopen(visit: Visit): void {
  const { claims, bodies, ran } = visit;
  visit.copied = false;
  claims.clear();
  for (const { rows } of bodies.values()) for (const number of rows) ran.delete(number);
  bodies.clear();
}
