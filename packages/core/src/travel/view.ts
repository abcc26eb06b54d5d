// A state as people look at it: what stands where, without the engine's bookkeeping. It is a copy as far as the fold changes things in
// place, so a view that was taken before an event stays what it was, and values that no event touched are the same objects in both.
import { type CommandState, type ExecutionState, type LoopState, newStep, type StepState } from '../engine/state.js';
import type { Json, JsonObject } from '../json/types.js';

export interface StateView {
  readonly status: string;
  readonly error: string | null;
  readonly workload: JsonObject;
  readonly ctx: JsonObject;
  readonly steps: Readonly<Record<string, JsonObject>>;
  /** Steps that hold a token and wait for their other branches. */
  readonly waiting: JsonObject;
  readonly signals: JsonObject;
  readonly commands: Readonly<Record<string, JsonObject>>;
}

export function viewOf(state: Readonly<ExecutionState>): StateView {
  return {
    status: state.status,
    error: state.error,
    workload: state.workload,
    ctx: { ...state.ctx },
    steps: mapped(state.steps, stepView),
    waiting: { ...state.waiting },
    signals: mapped(state.signals, (kept) => [...kept]),
    commands: mapped(state.commands, commandView),
  };
}

/** A step that nothing has touched yet. */
export const UNTOUCHED: JsonObject = stepView(newStep());

function stepView(step: StepState): JsonObject {
  return {
    state: step.phase,
    visit: step.run,
    attempt: step.attempt,
    args: step.args,
    vars: { ...step.vars },
    ...(step.hasData ? { result: step.data } : {}),
    error: step.error,
    taken: [...step.taken],
    dead: [...step.dead],
    loop: step.loop === null ? null : loopView(step.loop),
  };
}

export function loopView(loop: LoopState): JsonObject {
  return {
    total: loop.cursor === null ? loop.items.length : null,
    issued: loop.next,
    running: loop.running,
    succeeded: loop.succeeded,
    failed: loop.cursor === null ? loop.errors.length : loop.cursor.failed,
  };
}

function commandView({ step, status, attempt, workerId, iteration }: CommandState): JsonObject {
  return { step, status, attempt, worker_id: workerId, ...(iteration === null ? {} : { iteration }) };
}

/** The keys are names that an author chose, so the result has no prototype either. */
function mapped<T, R extends Json>(record: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  const result = Object.create(null) as Record<string, R>;
  for (const [key, value] of Object.entries(record)) result[key] = map(value);
  return result;
}
