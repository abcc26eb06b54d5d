// The fold: what each event does to the state. It needs no playbook and no template, because every decision is an event.
// It changes the state it is given; the caller owns that state and throws it away when a transaction fails.
import { assign } from './context-write.js';
import { commitFrame, issueClaim } from './cursor-state.js';
import { decode } from './decode.js';
import type { DomainEvent, NextEvaluated } from './events.js';
import {
  close,
  cutShort,
  endLoop,
  enter,
  fail,
  failInLoop,
  forgetFailure,
  fork,
  isErrorStatus,
  keepData,
  stepOf,
} from './evolve-step.js';
import { issueIteration } from './loop-state.js';
import type { EventRow } from './row.js';
import { type CommandState, dictionary, type ExecutionState, type StepState } from './state.js';

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
      state.depth = event.depth;
      state.caller = event.caller;
      state.callbackUrl = event.callbackUrl ?? null;
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
        cursor: event.cursor ?? null,
        park: event.park ?? null,
        status: event.park === undefined ? 'PENDING' : 'WAITING',
        handedOver: false,
        attempt: event.attempt,
        token: 0,
        workerId: null,
        call: null,
        issuedAt: row.created_at,
      };
      const step = stepOf(state, event.step);
      if (event.cursor?.phase === 'claim') {
        if (step.loop?.cursor != null) issueClaim(step.loop.cursor, event.cursor.frame);
        return;
      }
      step.toolKind = event.toolKind;
      if (event.iteration !== undefined && step.loop !== null)
        return issueIteration(step.loop, event.iteration.index, event.attempt, event.cursor);
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
    case 'command.handed_over':
      return withCommand(state, event.commandId, (command) => {
        command.status = 'WAITING';
        command.handedOver = true;
        command.call = null;
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
        if (failInLoop(step.loop, command, event.error, event.info)) return;
        if (command.call !== null && command.call.data !== null) keepData(state, command, step, command.call.data);
        fail(step, event.error, event.info, row);
      });
    case 'command.cancelled':
      return withCommand(state, event.commandId, (command) => {
        delete state.commands[command.commandId];
        const step = stepOf(state, command.step);
        if (failInLoop(step.loop, command, event.reason, null)) return;
        step.phase = 'failed';
        step.error = event.reason;
        step.finishedAt = row.created_at;
      });
    case 'loop.done':
      return endLoop(state, event.step, stepOf(state, event.step), event.status, row);
    case 'signal.received': {
      let kept = state.signals[event.name];
      if (kept === undefined) {
        kept = [];
        state.signals[event.name] = kept;
      }
      kept.push(event.payload);
      return;
    }
    case 'signal.delivered': {
      const kept = state.signals[event.name];
      kept?.shift();
      if (kept?.length === 0) delete state.signals[event.name];
      return;
    }
    case 'execution.forked':
      return fork(state, event);
    case 'ctx.updated':
      for (const [key, value] of Object.entries(event.values)) assign(state, event.step, key, value);
      return;
    case 'object.emitted':
    case 'stage.marked':
      return;
    case 'frame.marked': {
      const cursor = stepOf(state, event.step).loop?.cursor;
      if (event.mark === 'committed' && cursor != null) commitFrame(cursor, event.frame);
      return;
    }
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

function withCommand(state: ExecutionState, commandId: string, change: (command: CommandState) => void): void {
  const command = state.commands[commandId];
  if (command !== undefined) change(command);
}
