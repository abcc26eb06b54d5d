// What events do to one step: how a visit begins and ends, and what becomes of a command's result.
import type { Json } from '../json/types.js';
import { endClaim, failClaim, reopenClaim } from './cursor-state.js';
import type { ErrorInfo, ExecutionForked, StepEntered } from './events.js';
import { endIteration, failIteration, loopValue, reopenIteration, startLoop } from './loop-state.js';
import { PIPELINE, pipelineValue } from './pipeline-value.js';
import type { EventRow } from './row.js';
import {
  type CommandState,
  type ExecutionState,
  type LoopError,
  type LoopState,
  newStep,
  type StepState,
} from './state.js';

export function enter(state: ExecutionState, event: StepEntered, row: EventRow): void {
  const step = stepOf(state, event.step);
  step.run = event.run;
  step.phase = 'active';
  step.decided = true;
  step.args = state.waiting[event.step] ?? {};
  step.vars = {};
  step.taken = [];
  step.dead = [];
  forgetFailure(step);
  step.enteredAt = row.created_at;
  step.finishedAt = null;
  step.loop = event.loop === undefined ? null : startLoop(event.loop);
  delete state.waiting[event.step];
}

export function forgetFailure(step: StepState): void {
  step.error = null;
  step.info = null;
  step.failedEventId = null;
}

export function close(state: ExecutionState, command: CommandState, status: string, row: EventRow): void {
  delete state.commands[command.commandId];
  const step = stepOf(state, command.step);
  const call = command.call;
  const failed = isErrorStatus(status) || call?.ok === false;
  const error = call?.error ?? `tool status ${status}`;
  const data = call?.data ?? null;
  if (failed && failInLoop(step.loop, command, error, call?.info ?? null)) return;
  if (step.loop !== null) {
    if (command.cursor?.phase === 'claim') {
      if (step.loop.cursor !== null) endClaim(step.loop.cursor, command.cursor, data);
      return;
    }
    if (command.iteration !== null) return endIteration(step.loop, command, shownValue(command, data));
  }
  if (call !== null && call.data !== null) keepData(state, command, step, call.data);
  if (failed) return fail(step, error, call?.info ?? null, row);
  if (call === null || call.data === null) keepData(state, command, step, null);
  step.phase = 'done';
  step.finishedAt = row.created_at;
}

/** False when the command does not belong to a loop. */
export function failInLoop(
  loop: LoopState | null,
  command: CommandState,
  error: string,
  info: ErrorInfo | null,
): boolean {
  if (loop === null) return false;
  if (command.cursor?.phase === 'claim') {
    if (loop.cursor !== null) failClaim(loop, loop.cursor, error, info);
    return true;
  }
  if (command.iteration === null) return false;
  failIteration(loop, command, error, info);
  return true;
}

/**
 * The copied log ends here. What was on its way belongs to the other execution: it is taken back, so that it is issued anew, and the
 * failure that stopped the other execution is forgotten.
 */
export function fork(state: ExecutionState, event: ExecutionForked): void {
  state.workload = event.workload;
  state.failure = null;
  state.failedSteps = [];
  state.parentExecutionId = null;
  state.parentEventId = null;
  state.caller = null;
  state.callbackUrl = null;
  for (const command of Object.values(state.commands)) {
    delete state.commands[command.commandId];
    const { loop } = stepOf(state, command.step);
    if (loop === null) continue;
    if (command.cursor?.phase === 'claim') {
      if (loop.cursor !== null) reopenClaim(loop.cursor);
    } else if (command.iteration !== null) reopenIteration(loop, command);
  }
}

export function keepData(state: ExecutionState, command: CommandState, step: StepState, data: Json): void {
  step.data = shownValue(command, data);
  step.hasData = true;
  state.lastStep = command.step;
}

/** The value that later steps see: a list of tools shows the fields of all its tasks beside their labels. */
function shownValue(command: CommandState, data: Json): Json {
  return command.toolKind === PIPELINE ? pipelineValue(data) : data;
}

export function endLoop(state: ExecutionState, name: string, step: StepState, status: string, row: EventRow): void {
  if (step.loop === null) return;
  step.data = loopValue(step.loop);
  step.hasData = true;
  state.lastStep = name;
  const [first] = step.loop.errors;
  // Items and results live on in the step's value; the loop itself is over.
  step.loop = null;
  if (status === 'FAILED') return fail(step, loopError(first), first?.info ?? null, row);
  step.phase = 'done';
  step.finishedAt = row.created_at;
}

/** A failed claim belongs to no item. */
function loopError(first: LoopError | undefined): string {
  const error = first?.error ?? 'failed';
  return first === undefined || first.index < 0 ? error : `item ${first.index}: ${error}`;
}

/** Only a loop can be under way without an open command: its items were cancelled, or a failure elsewhere let no more start. */
export function cutShort(step: StepState, row: EventRow): void {
  if (step.phase !== 'active') return;
  step.loop = null;
  step.phase = 'failed';
  step.error = 'the execution ended before all items had run';
  step.finishedAt = row.created_at;
}

export function fail(step: StepState, error: string, info: StepState['info'], row: EventRow): void {
  step.phase = 'failed';
  step.error = error;
  step.info = info;
  step.failedEventId = row.event_id;
  step.finishedAt = row.created_at;
}

export function stepOf(state: ExecutionState, name: string): StepState {
  let step = state.steps[name];
  if (step === undefined) {
    step = newStep();
    state.steps[name] = step;
  }
  return step;
}

export function isErrorStatus(status: string): boolean {
  const word = status.toLowerCase();
  return word === 'error' || word === 'failed' || word === 'timeout' || word === 'failure';
}
