// The end of what no worker runs: time is up, a signal has come, a child has started or ended. Each ends its command exactly once, by the
// same events a worker would have reported.
import type { Id } from '../ids/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { isDue } from './clock.js';
import type { ErrorInfo, Park } from './events.js';
import type { CommandState } from './state.js';
import type { Turn } from './turn.js';

/**
 * Just issued: a child is sent for; a wait may be over already. `now` is false for items of a loop: a million waits that are due at once
 * are ended by the sweeper, some at a time, not in one turn.
 */
export function settleParked(turn: Turn, commandId: string, park: Park, now: boolean): void {
  if (park.kind === 'child') {
    turn.post({ type: 'start_child', target: park.executionId, commandId });
    return;
  }
  if (park.signal !== null && (turn.state.signals[park.signal]?.length ?? 0) > 0)
    return deliver(turn, commandId, park.signal);
  if (now && park.dueAt !== null && isDue(park.dueAt, turn.world.now)) timeIsUp(turn, commandId);
}

/** Ends the wait of a command with the oldest signal of this name. */
export function deliver(turn: Turn, commandId: string, name: string): void {
  const payload = turn.state.signals[name]?.[0] ?? null;
  turn.emit({ type: 'signal.delivered', name, commandId });
  complete(turn, commandId, { signal: name, payload, received_at: turn.world.now });
}

/** The command that has waited longest for this signal. */
export function waiterFor(commands: Readonly<Record<string, CommandState>>, name: string): CommandState | undefined {
  return Object.values(commands).find(({ park }) => park?.kind === 'wait' && park.signal === name);
}

/** What the deadline of a command that no worker runs means. */
export function timeIsUp(turn: Turn, commandId: string): void {
  const park = turn.state.commands[commandId]?.park;
  if (park == null) return;
  if (park.kind === 'child') {
    turn.post({ type: 'cancel', target: park.executionId, reason: 'the step that waits for it timed out' });
    return fail(turn, commandId, 'timeout', 'TIMEOUT', `execution ${park.executionId} did not end in time`, {
      execution_id: park.executionId,
    });
  }
  if (park.onDue === 'continue') {
    const timedOut = park.signal === null ? {} : { signal: park.signal, payload: null, timed_out: true };
    return complete(turn, commandId, { ...timedOut, waited_until: park.dueAt });
  }
  fail(turn, commandId, 'timeout', 'SIGNAL_TIMEOUT', `signal '${park.signal}' did not come in time`);
}

/** A child that nobody waits for: the step is done. */
export function childStarted(turn: Turn, command: CommandState): void {
  if (command.park?.kind !== 'child' || command.park.wait) return;
  const { executionId, path } = command.park;
  complete(turn, command.commandId, { status: 'started', execution_id: executionId, path, async: true });
}

export interface ChildEnd {
  readonly childId: Id;
  readonly status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
  readonly data: Json;
  readonly error: string | null;
}

export function childEnded(turn: Turn, command: CommandState, end: ChildEnd): void {
  const path = command.park?.kind === 'child' ? command.park.path : null;
  if (end.status === 'COMPLETED') {
    const data = { status: 'completed', execution_id: end.childId, path, data: end.data };
    return complete(turn, command.commandId, data);
  }
  const word = end.status === 'FAILED' ? 'failed' : 'was cancelled';
  const reason = end.error === null ? '' : `: ${end.error}`;
  const message = `execution ${end.childId}${path === null ? '' : ` of '${path}'`} ${word}${reason}`;
  fail(turn, command.commandId, 'child', end.status === 'FAILED' ? 'CHILD_FAILED' : 'CHILD_CANCELLED', message, {
    execution_id: end.childId,
  });
}

function complete(turn: Turn, commandId: string, data: JsonObject): void {
  const command = turn.state.commands[commandId];
  if (command === undefined) return;
  const { step } = command;
  turn.emit({ type: 'call.done', commandId, step, status: 'success', data, error: null, updates: {} });
  turn.emit({ type: 'command.completed', commandId, step, status: 'success' });
}

function fail(
  turn: Turn,
  commandId: string,
  kind: string,
  code: string,
  message: string,
  details: JsonObject = {},
): void {
  const command = turn.state.commands[commandId];
  if (command === undefined) return;
  const info: ErrorInfo = { ...details, kind, retryable: false, code, message };
  turn.emit({ type: 'command.failed', commandId, step: command.step, error: message, info });
}
