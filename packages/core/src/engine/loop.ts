// Running a loop: the collection is evaluated once, then a window of iterations is kept full until the items are used up, or a
// failure says stop. Ends with one `loop.done`.

import { isObject, parseJson } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Scope, TemplateError } from '../template/index.js';
import type { CompiledLoop, CompiledStep } from './compile.js';
import type { LoopStart } from './events.js';
import type { LoopState } from './state.js';
import type { Turn } from './turn.js';

/** What a parallel loop without `max_in_flight` may run at once. */
const UNLIMITED = 1_000;
const MAX_ITEMS = 1_000_000;

export function openLoop(loop: CompiledLoop, scope: Scope, loopId: string): LoopStart {
  const items = itemsOf(loop.in.render(scope), loop.source);
  if (items.length > MAX_ITEMS)
    throw new TemplateError(`the collection has ${items.length} items; a loop takes at most ${MAX_ITEMS}`);
  return { loopId, iterator: loop.iterator, items, maxInFlight: windowOf(loop, scope), onError: loop.onError };
}

/** A list as it is; an object as its entries; a text as JSON or as a list of words; a number as that many indexes. */
export function itemsOf(value: Json, source: string): Json[] {
  if (Array.isArray(value)) return value;
  if (isObject(value)) return Object.entries(value).map(([key, entry]) => ({ key, value: entry }));
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ITEMS) {
    return Array.from({ length: value }, (_, index) => index);
  }
  if (typeof value === 'string') return itemsOfText(value);
  const got = value === null ? 'null' : typeof value;
  throw new TemplateError(`Loop expression '${source}' did not evaluate to an iterable (got ${got})`);
}

function itemsOfText(text: string): Json[] {
  try {
    const parsed = parseJson(text);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // Not JSON: a plain list of words.
  }
  return text
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function windowOf(loop: CompiledLoop, scope: Scope): number {
  if (loop.mode === 'sequential') return 1;
  if (loop.maxInFlight === undefined) return UNLIMITED;
  const wanted = Number(loop.maxInFlight.render(scope));
  if (!Number.isInteger(wanted) || wanted < 1) {
    throw new TemplateError('loop.spec.max_in_flight must be a positive integer');
  }
  return Math.min(wanted, UNLIMITED);
}

/** What the templates of one iteration see beside the usual. */
export function iterationLocals(loop: LoopState, index: number): Record<string, unknown> {
  const total = loop.items.length;
  const item = loop.items[index] ?? null;
  const first = index === 0;
  const last = index === total - 1;
  return {
    [loop.iterator]: item,
    _index: index,
    _total: total,
    loop_index: index,
    iter: { [loop.iterator]: item, index, _index: index, _total: total, _first: first, _last: last },
    loop: { index, first, last, length: total },
  };
}

/** The same for the worker: a script finds its item without asking for it. */
export function iterationArgs(loop: LoopState, index: number): JsonObject {
  return { [loop.iterator]: loop.items[index] ?? null, _index: index, _total: loop.items.length };
}

export function mayIssue(loop: LoopState): boolean {
  const stopped = loop.onError !== 'continue' && loop.errors.length > 0;
  return !stopped && loop.next < loop.items.length && loop.running < loop.maxInFlight;
}

/** Emits `loop.done` when nothing is running and nothing more will. */
export function closeLoop(turn: Turn, compiled: CompiledStep): boolean {
  const visit = turn.state.steps[compiled.step.name];
  const loop = visit?.loop;
  if (visit === undefined || loop === undefined || loop === null || loop.running > 0 || mayIssue(loop)) return false;
  const failed = loop.errors.length;
  turn.emit({
    type: 'loop.done',
    step: compiled.step.name,
    run: visit.run,
    loopId: loop.loopId,
    status: failed > 0 && loop.onError !== 'continue' ? 'FAILED' : 'COMPLETED',
    total: loop.items.length,
    succeeded: loop.succeeded,
    failed,
  });
  return true;
}
