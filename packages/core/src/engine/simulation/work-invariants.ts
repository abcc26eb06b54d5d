// What must be true of loops and of the values of steps in any log that ended. The rows are judged against the plan; the fold is asked
// only for the value that later steps would see.
import { canonicalJson } from '../../json/index.js';
import type { Json, JsonObject } from '../../json/types.js';
import { evolve } from '../evolve.js';
import type { EventRow } from '../row.js';
import { type ExecutionState, initialState } from '../state.js';
import { EXECUTION, same } from './cluster.js';
import type { RandomGraph, StepPlan } from './graphs.js';
import { CLOSING, detailOf, ensure, itemOf, metaOf, moves, objectOf, TERMINAL } from './rows.js';
import { answerOf, type LoopPlan, shownValue, updatesOf } from './work.js';

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
  /** `ctx.made` was written. */
  made: boolean;
  unhandled: boolean;
}

export function checkWork(graph: RandomGraph, log: readonly EventRow[]): void {
  const book: Book = {
    graph,
    plans: new Map(graph.plans.map((plan) => [plan.name, plan])),
    visits: new Map(),
    answers: new Map(),
    runs: new Map(),
    fold: initialState(EXECUTION),
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
      if (itemOf(row) === undefined) {
        ensure(visit === undefined, 'a step that loops has issued a command that is for no item');
        book.runs.set(id, Number(metaOf(row).run));
        return;
      }
      return issueItem(visit, row);
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
    case 'loop.done':
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
  if (loop === undefined) return ensure(metaOf(row).loop_id === undefined, 'it does not loop');
  const items = loop.itemsOf(book.graph.workload, book.made);
  const found = detailOf(row).collection;
  ensure(same(found ?? null, items ?? null), `it goes through ${JSON.stringify(found)}`);
  if (items === undefined) return;
  const window = Number(detailOf(row).max_in_flight);
  ensure(window === loop.windowOf(book.graph.workload), `its window is ${window}`);
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
    issued: 0,
    succeeded: 0,
    done: false,
  });
}

function issueItem(visit: LoopVisit | undefined, row: EventRow): void {
  const index = Number(itemOf(row));
  if (visit === undefined || visit.done) throw new Error(`item ${index} was issued outside a loop`);
  const { items, open, loop } = visit;
  const meta = metaOf(row);
  ensure(index === visit.issued && index < items.length, `item ${index} follows ${visit.issued - 1}`);
  ensure(open.size < visit.window, `${open.size + 1} items are open, ${visit.window} may be`);
  ensure(meta.loop_id === visit.loopId && meta.run === visit.run, 'the item belongs to another visit');
  ensure(meta.iteration_total === items.length, `the item counts ${meta.iteration_total} in all`);
  const stopped = loop.model.onError !== 'continue' && visit.errors.size > 0;
  ensure(!stopped, `item ${index} was issued after item ${[...visit.errors][0]} had failed`);
  const args = objectOf(objectOf(row.context).args);
  ensure(same(own(args, loop.model.iterator), items[index] ?? null), 'it got another item');
  open.set(row.command_id ?? '', index);
  visit.issued++;
  visit.results.push(null);
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
  if (ok || reported) checkUpdates(plan, index ?? null, ok, next);
  if (visit === undefined) {
    if (!ok || answer === undefined) return;
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
    ensure(!loop.bad.has(index) && loop.unrenderable !== index, `item ${index} must fail`);
    visit.succeeded++;
    visit.results[index] = shownValue(plan, { run: visit.run, index });
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
