// Running a loop: the collection is evaluated once, then a window of iterations is kept full until the items are used up, or a
// failure says stop. Ends with one `loop.done`.

import type { Json } from '../json/types.js';
import { contentOf, type Scope, TemplateError } from '../template/index.js';
import { cancelCommand } from './cancel.js';
import { itemsOf, MAX_ITEMS } from './collection.js';
import type { CompiledLoop, CompiledStep } from './compile.js';
import { cursorHasMore, fillFrames, markStage, openCursor } from './cursor.js';
import type { LoopStart } from './events.js';
import { type Dispatched, issue } from './issue.js';
import type { LoopState } from './state.js';
import type { Turn } from './turn.js';

/** What a parallel loop without `max_in_flight` may run at once. */
const UNLIMITED = 1_000;

export function openLoop(loop: CompiledLoop, scope: Scope, loopId: string): LoopStart {
  if (loop.cursor !== undefined) {
    const { iterator, onError } = loop;
    const lanes = loop.maxInFlight === undefined ? 1 : windowOf(loop, scope);
    return { loopId, iterator, items: [], maxInFlight: lanes, onError, cursor: openCursor(loop.cursor, scope) };
  }
  const items = itemsOf(contentOf(loop.in.render(scope)) as Json, loop.source);
  if (items.length > MAX_ITEMS)
    throw new TemplateError(`the collection has ${items.length} items; a loop takes at most ${MAX_ITEMS}`);
  return { loopId, iterator: loop.iterator, items, maxInFlight: windowOf(loop, scope), onError: loop.onError };
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

/** Fills the window of a loop; `done` or `failed` when the loop has ended. */
export function advanceLoop(turn: Turn, compiled: CompiledStep): Dispatched {
  const name = compiled.step.name;
  const loop = turn.state.steps[name]?.loop;
  if (loop !== undefined && loop !== null) {
    if (loop.cursor === null) fillWindow(turn, compiled, loop);
    else fillFrames(turn, compiled, loop, loop.cursor);
    if (loop.onError === 'fail_fast' && loop.errors.length > 0) cancelItems(turn, name);
    if (!closeLoop(turn, compiled, loop)) return 'running';
  }
  return turn.state.steps[name]?.phase === 'failed' ? 'failed' : 'done';
}

function fillWindow(turn: Turn, compiled: CompiledStep, loop: LoopState): void {
  while (mayIssue(loop)) issueItem(turn, compiled, loop, loop.again[0] ?? loop.next, 1);
}

/** Issues one item, for the first time or again. */
export function issueItem(turn: Turn, compiled: CompiledStep, loop: LoopState, index: number, attempt: number): void {
  const { iterator, items, loopId } = loop;
  const place = { iterator, item: items[index] ?? null, index, total: items.length };
  issue(turn, compiled, attempt, { place, loopId });
}

function cancelItems(turn: Turn, step: string): void {
  for (const command of Object.values(turn.state.commands))
    if (command.step === step) cancelCommand(turn, command, 'another item failed');
}

/** Nothing more of it is started. */
export function isStopped(loop: LoopState): boolean {
  return loop.cursor?.claimFailed === true || (loop.onError !== 'continue' && loop.errors.length > 0);
}

function mayIssue(loop: LoopState): boolean {
  const more = loop.again.length > 0 || loop.next < loop.items.length;
  return more && !isStopped(loop) && loop.running < loop.maxInFlight;
}

/** Emits `loop.done` when nothing is running and nothing more will. */
function closeLoop(turn: Turn, compiled: CompiledStep, loop: LoopState): boolean {
  const visit = turn.state.steps[compiled.step.name];
  if (visit === undefined || loop.running > 0 || (loop.cursor?.claiming ?? 0) > 0 || hasMore(loop)) return false;
  const failed = loop.cursor?.failed ?? loop.errors.length;
  if (loop.cursor !== null) markStage(turn, compiled, loop, 'closed');
  turn.emit({
    type: 'loop.done',
    step: compiled.step.name,
    run: visit.run,
    loopId: loop.loopId,
    status: isStopped(loop) ? 'FAILED' : 'COMPLETED',
    total: loop.cursor === null ? loop.items.length : loop.succeeded + failed,
    succeeded: loop.succeeded,
    failed,
  });
  return true;
}

function hasMore(loop: LoopState): boolean {
  if (isStopped(loop)) return false;
  return loop.cursor === null ? mayIssue(loop) : cursorHasMore(loop.cursor);
}
