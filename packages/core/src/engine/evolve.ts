// The fold: what each event does to the state. It needs no playbook and no template, because every decision is an event.
// It changes the state it is given; the caller owns that state and throws it away when a transaction fails.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { decode } from './decode.js';
import type { DomainEvent, NextEvaluated, StepEntered } from './events.js';
import { endIteration, failIteration, issueIteration, loopValue, startLoop } from './loop-state.js';
import { PIPELINE, pipelineValue } from './pipeline-value.js';
import type { EventRow } from './row.js';
import { type CommandState, dictionary, type ExecutionState, newStep, type StepState } from './state.js';

/** Folds one row. Rows must come in `stream_version` order; a row at or below the state's version is a bug of the caller. */
export function evolve(state: ExecutionState, row: EventRow): void {
  if (row.stream_version !== state.version + 1) {
    throw new Error(
      `event ${row.event_id} has version ${row.stream_version}, execution ${state.executionId} is at ${state.version}`,
    );
  }
  state.version = row.stream_version;
  state.lastEventId = row.event_id;
  const event = decode(row);
  if (event !== undefined) applyEvent(state, event, row);
}

/** The same for an event the engine has just made, before it is a row of the database. */
export function applyEvent(state: ExecutionState, event: DomainEvent, row: EventRow): void {
  switch (event.type) {
    case 'playbook_started':
      state.status = 'RUNNING';
      state.path = event.path;
      state.catalogId = event.catalogId;
      state.workload = event.workload;
      state.pool = event.pool;
      state.engineRev = event.engineRev;
      state.parentExecutionId = event.parentExecutionId;
      state.parentEventId = event.parentEventId;
      state.trace = event.trace;
      state.startedAt = row.created_at;
      return;
    case 'step.enter':
      return enter(state, event, row);
    case 'step.skipped': {
      const step = stepOf(state, event.step);
      step.run = event.run;
      step.decided = true;
      step.phase = event.reason === 'guard' ? 'guarded' : 'skipped';
      // Its arcs are asked next: they must not see how an earlier visit ended.
      if (event.reason === 'guard') forgetFailure(step);
      delete state.waiting[event.step];
      return;
    }
    case 'step.failed':
      return fail(stepOf(state, event.step), event.error, event.info, row);
    case 'command.issued': {
      state.commands[event.commandId] = {
        commandId: event.commandId,
        eventId: row.event_id,
        step: event.step,
        run: event.run,
        toolKind: event.toolKind,
        pool: event.pool,
        maxAttempts: event.maxAttempts,
        idempotent: event.idempotent,
        iteration: event.iteration?.index ?? null,
        status: 'PENDING',
        attempt: event.attempt,
        token: 0,
        workerId: null,
        call: null,
        issuedAt: row.created_at,
      };
      const step = stepOf(state, event.step);
      step.toolKind = event.toolKind;
      if (event.iteration !== undefined && step.loop !== null) return issueIteration(step.loop, event.iteration.index);
      step.attempt = event.attempt;
      // A further attempt of the same visit: what the last one failed with is over, and the step is running again.
      step.phase = 'active';
      step.finishedAt = null;
      forgetFailure(step);
      return;
    }
    case 'command.claimed':
      return withCommand(state, event.commandId, (command) => {
        command.status = 'CLAIMED';
        command.workerId = event.workerId;
        command.token = event.token;
        command.call = null;
      });
    case 'command.started':
      return withCommand(state, event.commandId, (command) => {
        command.status = 'RUNNING';
      });
    case 'command.requeued':
      return withCommand(state, event.commandId, (command) => {
        command.status = 'PENDING';
        command.workerId = null;
        command.attempt = event.attempt;
        command.call = null;
        if (command.iteration === null) stepOf(state, event.step).attempt = event.attempt;
      });
    case 'call.done':
      return withCommand(state, event.commandId, (command) => {
        const ok = !isErrorStatus(event.status);
        command.call = {
          ok,
          data: event.data,
          error: ok ? null : (event.error ?? `tool status ${event.status}`),
          info: null,
          updates: event.updates,
        };
      });
    case 'call.error':
      return withCommand(state, event.commandId, (command) => {
        const { data, error, info, updates } = event;
        command.call = { ok: false, data, error, info, updates };
      });
    case 'command.completed':
      return withCommand(state, event.commandId, (command) => close(state, command, event.status, row));
    case 'command.failed':
      return withCommand(state, event.commandId, (command) => {
        delete state.commands[command.commandId];
        const step = stepOf(state, command.step);
        if (command.iteration !== null && step.loop !== null) {
          return failIteration(step.loop, command.iteration, event.error, event.info);
        }
        if (command.call !== null && command.call.data !== null) keepData(state, command, step, command.call.data);
        fail(step, event.error, event.info, row);
      });
    case 'command.cancelled':
      return withCommand(state, event.commandId, (command) => {
        delete state.commands[command.commandId];
        const step = stepOf(state, command.step);
        if (command.iteration !== null && step.loop !== null) {
          return failIteration(step.loop, command.iteration, event.reason, null);
        }
        step.phase = 'failed';
        step.error = event.reason;
        step.finishedAt = row.created_at;
      });
    case 'loop.done':
      return endLoop(state, event.step, stepOf(state, event.step), event.status, row);
    case 'ctx.updated':
      for (const [key, value] of Object.entries(event.values)) assign(state, event.step, key, value);
      return;
    case 'next.evaluated':
      return route(state, event);
    case 'playbook.ended':
      state.status = event.status;
      state.error = event.error;
      state.endedAt = row.created_at;
      state.waiting = dictionary();
      for (const name in state.steps) cutShort(stepOf(state, name), row);
      return;
  }
}

function enter(state: ExecutionState, event: StepEntered, row: EventRow): void {
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

function forgetFailure(step: StepState): void {
  step.error = null;
  step.info = null;
  step.failedEventId = null;
}

function close(state: ExecutionState, command: CommandState, status: string, row: EventRow): void {
  delete state.commands[command.commandId];
  const step = stepOf(state, command.step);
  const call = command.call;
  const failed = isErrorStatus(status) || call?.ok === false;
  const error = call?.error ?? `tool status ${status}`;
  if (command.iteration !== null && step.loop !== null) {
    if (failed) return failIteration(step.loop, command.iteration, error, call?.info ?? null);
    return endIteration(step.loop, command.iteration, shownValue(command, call?.data ?? null));
  }
  if (call !== null && call.data !== null) keepData(state, command, step, call.data);
  if (failed) return fail(step, error, call?.info ?? null, row);
  if (call === null || call.data === null) keepData(state, command, step, null);
  step.phase = 'done';
  step.finishedAt = row.created_at;
}

function keepData(state: ExecutionState, command: CommandState, step: StepState, data: Json): void {
  step.data = shownValue(command, data);
  step.hasData = true;
  state.lastStep = command.step;
}

/** The value that later steps see: a list of tools shows the fields of all its tasks beside their labels. */
function shownValue(command: CommandState, data: Json): Json {
  return command.toolKind === PIPELINE ? pipelineValue(data) : data;
}

function endLoop(state: ExecutionState, name: string, step: StepState, status: string, row: EventRow): void {
  if (step.loop === null) return;
  step.data = loopValue(step.loop);
  step.hasData = true;
  state.lastStep = name;
  const [first] = step.loop.errors;
  // Items and results live on in the step's value; the loop itself is over.
  step.loop = null;
  if (status === 'FAILED')
    return fail(step, `item ${first?.index ?? 0}: ${first?.error ?? 'failed'}`, first?.info ?? null, row);
  step.phase = 'done';
  step.finishedAt = row.created_at;
}

/** Only a loop can be under way without an open command: its items were cancelled, or a failure elsewhere let no more start. */
function cutShort(step: StepState, row: EventRow): void {
  if (step.phase !== 'active') return;
  step.loop = null;
  step.phase = 'failed';
  step.error = 'the execution ended before all items had run';
  step.finishedAt = row.created_at;
}

function fail(step: StepState, error: string, info: StepState['info'], row: EventRow): void {
  step.phase = 'failed';
  step.error = error;
  step.info = info;
  step.failedEventId = row.event_id;
  step.finishedAt = row.created_at;
}

function route(state: ExecutionState, event: NextEvaluated): void {
  const step = stepOf(state, event.step);
  step.taken = event.taken;
  step.dead = event.dead;
  for (const [name, kept] of Object.entries(event.reset ?? {})) startEpoch(stepOf(state, name), kept);
  for (const [target, args] of Object.entries(event.tokens)) {
    if (state.steps[target]?.decided) continue; // it already ran in this epoch: a step runs once
    state.waiting[target] = { ...state.waiting[target], ...args };
  }
  if (event.outcome === 'unhandled_failure') {
    state.failedSteps.push(event.step);
    state.failure ??= {
      step: event.step,
      error: step.error ?? 'failed',
      info: step.info,
      eventId: step.failedEventId,
    };
  }
}

/** The loop turns: the step may run again, and its arcs are open again but for tokens that still wait outside the loop. */
function startEpoch(step: StepState, kept: readonly number[]): void {
  step.decided = false;
  step.taken = kept;
  step.dead = [];
  if (step.phase === 'skipped' || step.phase === 'guarded') step.phase = 'idle';
}

/** `ctx.a.b` writes `{a: {b: …}}` into the context; `step.x` belongs to the step's own variables; a bare key means ctx. */
function assign(state: ExecutionState, step: string, key: string, value: Json): void {
  const path = key.split('.');
  const scope = path.length > 1 ? path[0] : undefined;
  if (scope === 'step') return write(stepOf(state, step).vars, path.slice(1), value);
  write(state.ctx, scope === 'ctx' ? path.slice(1) : path, value);
}

function write(target: JsonObject, path: readonly string[], value: Json): void {
  const [head, ...rest] = path;
  if (head === undefined) return;
  if (rest.length === 0) {
    define(target, head, value);
    return;
  }
  const inner = Object.hasOwn(target, head) ? target[head] : undefined;
  const next: JsonObject = isObject(inner) ? { ...inner } : {};
  write(next, rest, value);
  define(target, head, next);
}

/** An author may call a variable `__proto__`; it is data like any other name. */
function define(target: JsonObject, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

function stepOf(state: ExecutionState, name: string): StepState {
  let step = state.steps[name];
  if (step === undefined) {
    step = newStep();
    state.steps[name] = step;
  }
  return step;
}

function withCommand(state: ExecutionState, commandId: string, change: (command: CommandState) => void): void {
  const command = state.commands[commandId];
  if (command !== undefined) change(command);
}

export function isErrorStatus(status: string): boolean {
  const word = status.toLowerCase();
  return word === 'error' || word === 'failed' || word === 'timeout' || word === 'failure';
}
