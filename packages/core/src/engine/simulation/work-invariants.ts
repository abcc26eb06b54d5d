// What must be true of loops and of the values of steps in any log that ended. The rows are judged against the plan; the fold is asked
// only for the value that later steps would see.
import type { Id } from '../../ids/index.js';
import { canonicalJson } from '../../json/index.js';
import type { Json, JsonObject } from '../../json/types.js';
import { evolve } from '../evolve.js';
import type { EventRow } from '../row.js';
import { type ExecutionState, initialState } from '../state.js';
import { same } from './cluster.js';
import type { Workload } from './conditions.js';
import type { RandomGraph, StepPlan } from './graphs.js';
import { CLOSING, detailOf, ensure, FORKED, itemOf, metaOf, moves, objectOf, TERMINAL } from './rows.js';
import { answerOf, isParked, type LoopPlan, shownValue, updatesOf } from './work.js';

interface LoopVisit {
  readonly plan: StepPlan;
  readonly loop: LoopPlan;
  readonly run: number;
  readonly loopId: string;
  readonly items: readonly Json[];
  readonly window: number;
  /** Index of each open item, by command. */
  readonly open: Map<string, number>;
  readonly results: Json[];
  readonly errors: Set<number>;
  /** Items that were open when the log was forked. */
  readonly again: Set<number>;
  issued: number;
  succeeded: number;
  done: boolean;
}

interface Book {
  readonly graph: RandomGraph;
  readonly plans: ReadonlyMap<string, StepPlan>;
  /** The latest visit of each step that loops. */
  readonly visits: Map<string, LoopVisit>;
  /** What the holder of each open command has reported. */
  readonly answers: Map<string, { readonly ok: boolean; readonly data: Json }>;
  readonly runs: Map<string, number>;
  readonly fold: ExecutionState;
  workload: Workload;
  readonly healed: boolean;
  /** Until the end of the copied part of a fork. */
  copied: boolean;
  /** `ctx.made` was written. */
  made: boolean;
  unhandled: boolean;
}

/** `healed`: the tools did not fail, whatever the plan says. */
export function checkWork(graph: RandomGraph, log: readonly EventRow[], healed: boolean): void {
  const book: Book = {
    graph,
    plans: new Map(graph.plans.map((plan) => [plan.name, plan])),
    visits: new Map(),
    answers: new Map(),
    runs: new Map(),
    fold: initialState(log[0]?.execution_id ?? ('0' as Id)),
    workload: graph.workload,
    copied: log.some((row) => row.event_type === FORKED && moves(row)),
    healed,
    made: false,
    unhandled: false,
  };
  log.forEach((row, at) => {
    evolve(book.fold, row);
    if (!moves(row)) return;
    try {
      check(book, row, log[at + 1]);
    } catch (error) {
      throw new Error(`version ${row.stream_version}, step '${row.node_name}': ${(error as Error).message}`);
    }
  });
  for (const [name, { phase, loop }] of Object.entries(book.fold.steps))
    ensure(phase !== 'active' && loop === null, `'${name}' seems to run although the execution has ended`);
  const end = log.find((row) => TERMINAL.has(row.event_type) && moves(row));
  if (end?.status !== 'COMPLETED' || metaOf(end).reason !== 'quiescent') return;
  for (const { plan, done } of book.visits.values()) ensure(done, `the loop of '${plan.name}' never ended`);
}

function check(book: Book, row: EventRow, next: EventRow | undefined): void {
  const step = row.node_name ?? '';
  const id = row.command_id ?? '';
  const visit = book.visits.get(step);
  switch (row.event_type) {
    case 'step.enter':
      return enter(book, row, book.plans.get(step) as StepPlan);
    case 'command.issued':
      ensure(!book.unhandled, 'a command was issued after a failure that nothing handled');
      if (metaOf(row).cursor !== undefined) return; // cursor-invariants.ts
      if (itemOf(row) === undefined) {
        ensure(visit === undefined, 'a step that loops has issued a command that is for no item');
        book.runs.set(id, Number(metaOf(row).run));
        return;
      }
      return issueItem(book, visit, row);
    case 'command.claimed':
    case 'command.requeued':
      book.answers.delete(id);
      return;
    case 'call.done':
      book.answers.set(id, { ok: objectOf(detailOf(row).result).status === 'success', data: dataOf(row) });
      return;
    case 'call.error':
      book.answers.set(id, { ok: false, data: null });
      return;
    case FORKED:
      return fork(book, row);
    case 'loop.done':
      if (book.plans.get(step)?.table !== undefined) return;
      return endLoop(book, visit, row);
    case 'ctx.updated':
      book.made ||= Object.hasOwn(objectOf(detailOf(row).values), 'ctx.made');
      return;
    case 'next.evaluated':
      ensure(visit === undefined || visit.done, 'its arcs were asked before its loop was over');
      book.unhandled ||= detailOf(row).outcome === 'unhandled_failure';
      return;
    default:
      if (CLOSING.has(row.event_type)) close(book, row, next);
  }
}

function enter(book: Book, row: EventRow, plan: StepPlan): void {
  const { loop } = plan;
  book.visits.delete(plan.name);
  if (loop === undefined)
    return ensure(metaOf(row).loop_id === undefined || plan.table !== undefined, 'it does not loop');
  const items = loop.itemsOf(book.workload, book.made);
  const found = detailOf(row).collection;
  ensure(same(found ?? null, items ?? null), `it goes through ${JSON.stringify(found)}`);
  if (items === undefined) return;
  const window = Number(detailOf(row).max_in_flight);
  ensure(window === loop.windowOf(book.workload), `its window is ${window}`);
  book.visits.set(plan.name, {
    plan,
    loop,
    run: Number(metaOf(row).run),
    loopId: String(metaOf(row).loop_id),
    items,
    window,
    open: new Map(),
    results: [],
    errors: new Set(),
    again: new Set(),
    issued: 0,
    succeeded: 0,
    done: false,
  });
}

function issueItem(book: Book, visit: LoopVisit | undefined, row: EventRow): void {
  const index = Number(itemOf(row));
  if (visit === undefined || visit.done) throw new Error(`item ${index} was issued outside a loop`);
  const { items, open, loop } = visit;
  const meta = metaOf(row);
  // A further attempt makes good what the last one broke; a fork begins with what was under way.
  const repeated = visit.again.delete(index) || (Number(meta.attempt) > 1 && visit.errors.delete(index));
  const isNext = index === visit.issued && index < items.length && visit.again.size === 0;
  ensure(repeated || isNext, `item ${index} follows ${visit.issued - 1}`);
  // The copied part of a fork leaves out failures that had made room.
  ensure(book.copied || open.size < visit.window, `${open.size + 1} items are open, ${visit.window} may be`);
  ensure(meta.loop_id === visit.loopId && meta.run === visit.run, 'the item belongs to another visit');
  ensure(meta.iteration_total === items.length, `the item counts ${meta.iteration_total} in all`);
  const stopped = loop.model.onError !== 'continue' && visit.errors.size > 0;
  ensure(!stopped, `item ${index} was issued after item ${[...visit.errors][0]} had failed`);
  const args = objectOf(objectOf(row.context).args);
  ensure(same(own(args, loop.model.iterator), items[index] ?? null), 'it got another item');
  open.set(row.command_id ?? '', index);
  if (repeated) return;
  visit.issued++;
  visit.results.push(null);
}

/** What was open is open no more, and is issued again before anything else. */
function fork(book: Book, row: EventRow): void {
  book.workload = objectOf(objectOf(row.context).workload) as unknown as Workload;
  book.copied = false;
  book.answers.clear();
  for (const visit of book.visits.values()) {
    for (const index of visit.open.values()) visit.again.add(index);
    visit.open.clear();
  }
}

function close(book: Book, row: EventRow, next: EventRow | undefined): void {
  const id = row.command_id ?? '';
  const step = row.node_name ?? '';
  const plan = book.plans.get(step) as StepPlan;
  const visit = book.visits.get(step);
  const index = visit?.open.get(id);
  const answer = book.answers.get(id);
  const ok = row.event_type === 'command.completed' && row.status === 'success' && answer?.ok === true;
  book.answers.delete(id);
  const reported = objectOf(answer?.data)._context_updates !== undefined && row.event_type === 'command.completed';
  const isCut = next?.event_type === FORKED;
  if ((ok || reported) && !isCut) checkUpdates(plan, index ?? null, ok, next);
  if (plan.table !== undefined) return;
  if (visit === undefined) {
    if (!ok || answer === undefined) return;
    if (isParked(plan)) return mustEqual(book.fold.steps[step]?.data ?? null, answer.data, 'the value of the step is');
    const piece = { run: book.runs.get(id) ?? 0, index: null };
    mustEqual(answer.data, answerOf(plan, piece), 'the worker answered');
    return mustEqual(book.fold.steps[step]?.data ?? null, shownValue(plan, piece), 'the value of the step is');
  }
  if (index === undefined) throw new Error(`${id} was closed, but is no open item`);
  const { loop, errors } = visit;
  visit.open.delete(id);
  const late = loop.model.onError === 'fail_fast' && errors.size > 0 && !book.unhandled;
  ensure(!late || row.event_type === 'command.cancelled', `item ${index} went on after another had failed`);
  if (ok) {
    // A signal may come although nobody was to send it.
    const mayEnd = book.healed || isParked(plan) || !loop.bad.has(index);
    ensure(mayEnd && loop.unrenderable !== index, `item ${index} must fail`);
    visit.succeeded++;
    visit.results[index] = isParked(plan) ? answer.data : shownValue(plan, { run: visit.run, index });
  } else errors.add(index);
}

/** What a list of tools has set is in the log before anything is decided on it. */
function checkUpdates(plan: StepPlan, index: number | null, ok: boolean, next: EventRow | undefined): void {
  const isUpdate = next?.event_type === 'ctx.updated' && moves(next);
  if (plan.pipeline?.updates !== true) return;
  ensure(isUpdate, 'what its tools have set is lost');
  const wanted = updatesOf(plan, { run: 0, index }, ok);
  mustEqual(next === undefined ? null : (detailOf(next).values ?? null), wanted, 'its tools have set');
}

function endLoop(book: Book, visit: LoopVisit | undefined, row: EventRow): void {
  if (visit === undefined || visit.done) throw new Error('a loop ended that was not running');
  const { plan, items, errors, issued, succeeded, results } = visit;
  const { onError } = visit.loop.model;
  const detail = detailOf(row);
  visit.done = true;
  ensure(visit.open.size === 0, `the loop ended while ${visit.open.size} items were open`);
  ensure(metaOf(row).loop_id === visit.loopId && metaOf(row).run === visit.run, 'the end of another visit');
  ensure(issued === succeeded + errors.size, `${issued} items were issued, ${succeeded} + ${errors.size} ended`);
  ensure(issued === items.length || (onError !== 'continue' && errors.size > 0), `only ${issued} items were issued`);
  ensure(row.status === (errors.size > 0 && onError !== 'continue' ? 'FAILED' : 'COMPLETED'), `it ended ${row.status}`);
  const counted = [detail.iterations_expected, detail.succeeded, detail.failed].join();
  ensure(counted === [items.length, succeeded, errors.size].join(), `it counts ${counted}`);
  const value = objectOf(book.fold.steps[plan.name]?.data);
  mustEqual(value.results ?? null, results, 'its results are');
  mustEqual(value.data ?? null, results, 'its data are');
  const stats: JsonObject = { total: items.length, success: succeeded, failed: errors.size };
  mustEqual(value.stats ?? null, stats, 'its stats are');
  const listed = (value.errors as { index: number }[]).map((error) => error.index);
  mustEqual(
    listed,
    [...errors].sort((a, b) => a - b),
    'its errors are at',
  );
}

const dataOf = (row: EventRow): Json => objectOf(objectOf(detailOf(row).result).context).data ?? null;
const own = (value: JsonObject, key: string): Json => (Object.hasOwn(value, key) ? (value[key] ?? null) : null);

function mustEqual(found: Json, wanted: Json, what: string): void {
  if (!same(found, wanted)) throw new Error(`${what} ${canonicalJson(found)}, must be ${canonicalJson(wanted)}`);
}
