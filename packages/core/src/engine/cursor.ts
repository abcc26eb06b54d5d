// Running a cursor loop: claim a frame of rows, run the body for each of them, claim the next, until a claim brings none. `max_in_flight`
// frames may be open at once, each with `row_concurrency` bodies.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Scope, TemplateError } from '../template/index.js';
import type { CompiledCursor, CompiledStep } from './compile.js';
import { hasMore, isOver } from './cursor-state.js';
import type { CommandIssued, CursorStart, FrameMarked, StageMarked } from './events.js';
import { issue } from './issue.js';
import type { ItemPlace } from './item.js';
import { executionScope } from './scope.js';
import type { CursorState, Frame, LoopState } from './state.js';
import { stepFailure } from './step-error.js';
import type { Turn } from './turn.js';

const MAX_ROWS = 10_000;
const MAX_CONCURRENCY = 1_000;

export function openCursor(cursor: CompiledCursor, scope: Scope): CursorStart {
  const process = cursor.process.render(scope) ?? 'row';
  if (process !== 'row' && process !== 'frame')
    throw new TemplateError(`loop.spec.frame.process must be row or frame (got '${String(process)}')`);
  return {
    maxRows: countOf('max_rows', cursor.maxRows.render(scope), MAX_ROWS),
    rowConcurrency: countOf('row_concurrency', cursor.rowConcurrency.render(scope), MAX_CONCURRENCY),
    process,
  };
}

function countOf(field: string, value: Json, max: number): number {
  const count = value === null ? 1 : Number(value);
  if (!Number.isInteger(count) || count < 1)
    throw new TemplateError(`loop.spec.frame.${field} must be a positive integer`);
  return Math.min(count, max);
}

export function cursorHasMore(cursor: CursorState): boolean {
  return !cursor.drained || Object.keys(cursor.frames).length > 0;
}

/** Starts every body and every claim that may run now. */
export function fillFrames(turn: Turn, compiled: CompiledStep, loop: LoopState, cursor: CursorState): void {
  for (const [frame, { rows }] of Object.entries(cursor.frames).filter(([, open]) => isOver(open)))
    markFrame(turn, compiled, loop, 'committed', Number(frame), rows.length);
  for (;;) {
    const stopped = cursor.claimFailed || (loop.onError !== 'continue' && loop.errors.length > 0);
    if (stopped) return;
    // After a fork more frames may be open than the window allows: the later ones wait.
    const running = Object.entries(cursor.frames).slice(0, loop.maxInFlight);
    const ready = running.find(([, frame]) => mayRun(cursor, frame));
    if (ready !== undefined) {
      runBody(turn, compiled, loop, cursor, Number(ready[0]), ready[1]);
    } else if (!cursor.drained && cursor.claiming + Object.keys(cursor.frames).length < loop.maxInFlight) {
      if (!claimFrame(turn, compiled, loop, cursor)) return;
    } else return;
  }
}

function mayRun(cursor: CursorState, frame: Frame): boolean {
  return hasMore(frame) && frame.open < (cursor.process === 'frame' ? 1 : cursor.rowConcurrency);
}

function runBody(
  turn: Turn,
  compiled: CompiledStep,
  loop: LoopState,
  cursor: CursorState,
  index: number,
  frame: Frame,
): void {
  const { iterator, loopId } = loop;
  const whole = cursor.process === 'frame';
  const row = whole ? 0 : (frame.again[0] ?? frame.next);
  const place: ItemPlace = {
    iterator,
    item: whole ? [...frame.rows] : (frame.rows[row] ?? null),
    index: loop.next,
    total: whole ? 1 : frame.rows.length,
    frame: { index, rows: frame.rows, row },
  };
  const part = { phase: 'body' as const, frame: index, ...(whole ? {} : { row }) };
  issue(turn, compiled, 1, { place, loopId, part });
}

/** False when the claim could not even be rendered: the step has failed. */
function claimFrame(turn: Turn, compiled: CompiledStep, loopState: LoopState, cursor: CursorState): boolean {
  const { step, loop } = compiled;
  if (loop?.cursor === undefined) return false;
  const visit = turn.state.steps[step.name];
  const args = visit?.args ?? {};
  const frame = cursor.nextFrame;
  const locals = { args, ...args, step_name: step.name, __frame_max_rows: cursor.maxRows, __frame: frame };
  const config: JsonObject = { kind: loop.cursor.kind };
  let failure: ReturnType<typeof stepFailure>;
  try {
    const scope = executionScope(turn.state, turn.world, locals);
    for (const part of loop.cursor.config) {
      const rendered = part.render(scope);
      if (isObject(rendered)) Object.assign(config, rendered);
    }
  } catch (error) {
    failure = stepFailure(error);
    if (failure === undefined) throw error;
  }
  const eventId = turn.world.nextId();
  const commandId = `${turn.state.executionId}:${step.name}:${eventId}`;
  const event: CommandIssued = {
    type: 'command.issued',
    commandId,
    step: step.name,
    run: visit?.run ?? 1,
    toolKind: loop.cursor.kind,
    pool: turn.state.pool,
    attempt: 1,
    maxAttempts: step.spec.maxAttempts ?? 3,
    idempotent: step.spec.idempotent,
    context: {
      tool_config: config,
      args: { __frame_max_rows: cursor.maxRows, __frame: frame },
      render_context: {},
    },
    cursor: { phase: 'claim', frame },
  };
  turn.emit(event, eventId);
  markFrame(turn, compiled, loopState, 'dispatched', frame, 0);
  if (failure !== undefined) turn.emit({ type: 'command.failed', commandId, step: step.name, ...failure });
  return failure === undefined;
}

/** What a claim that has ended brought. */
export function markClaimed(turn: Turn, compiled: CompiledStep, loop: LoopState, frame: number): void {
  const rows = loop.cursor?.frames[frame]?.rows.length ?? 0;
  const mark = rows > 0 ? 'started' : loop.cursor?.claimFailed === true ? 'failed' : 'committed';
  markFrame(turn, compiled, loop, mark, frame, rows);
}

function markFrame(
  turn: Turn,
  { step }: CompiledStep,
  { loopId }: LoopState,
  mark: FrameMarked['mark'],
  frame: number,
  rows: number,
): void {
  const run = turn.state.steps[step.name]?.run ?? 1;
  turn.emit({ type: 'frame.marked', mark, step: step.name, run, loopId, frame, rows });
}

export function markStage(turn: Turn, { step }: CompiledStep, loop: LoopState, mark: StageMarked['mark']): void {
  const run = turn.state.steps[step.name]?.run ?? 1;
  const { filled: frames = 0, failed = 0 } = loop.cursor ?? {};
  const rows = loop.succeeded + failed;
  turn.emit({ type: 'stage.marked', mark, step: step.name, run, loopId: loop.loopId, frames, rows, failed });
}
