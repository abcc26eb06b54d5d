// The decider: one fact in, the events it leads to out. Pure and deterministic: time and ids are handed in, the state is
// changed only by folding the events that are returned. What a fact may do is decided here and nowhere else.
import type { Id } from '../ids/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { ReferenceNeeded, scopeOf } from '../template/index.js';
import { isDue } from './clock.js';
import type { CompiledPlaybook } from './compile.js';
import { asForeign, commandIdOf, decode, isCommandEvent } from './decode.js';
import { cancelOpen, commandClosed, end, resume, start, TIMED_OUT, WORKER_LOST } from './drive.js';
import type { Caller, DomainEvent, ExecutionForked } from './events.js';
import type { Posted } from './messages.js';
import type { EventRow } from './row.js';
import { type CallOutcome, type CommandState, dictionary, type ExecutionState, isTerminal } from './state.js';
import { beginTurn, type Turn, type World } from './turn.js';
import { type ChildEnd, childEnded, childStarted, deliver, timeIsUp, waiterFor } from './wait.js';

/** Bumped when the same log would lead to other decisions; an execution keeps the revision it started with. */
export const ENGINE_REV = 1;

export type Fact =
  | {
      readonly type: 'start';
      readonly path: string;
      readonly catalogId: Id;
      readonly payload: JsonObject;
      readonly pool: string;
      readonly parentExecutionId: Id | null;
      readonly parentEventId: Id | null;
      readonly trace: Json;
      readonly depth?: number;
      readonly caller?: Caller | null;
      readonly rerunOf?: Id;
      readonly callbackUrl?: string;
    }
  | ForkFact
  | { readonly type: 'event'; readonly row: ProducedEvent; readonly token?: number | undefined }
  | {
      readonly type: 'claim';
      readonly commandId: string;
      readonly workerId: string;
      /** The lease before this one, as the claimer knows it: who knows an older one does not know what has happened since. */
      readonly after?: number;
    }
  | {
      readonly type: 'release';
      readonly commandId: string;
      readonly token: number;
      readonly reason: string;
      readonly delayMs: number;
      /** False when the attempt was not used up (a worker that drains). */
      readonly countAttempt: boolean;
      /** Where a list of tools goes on when the command is claimed again. */
      readonly resume?: Json;
    }
  | { readonly type: 'lease_expired'; readonly commandId: string; readonly token: number }
  /** The command's deadline has passed. */
  | { readonly type: 'due'; readonly commandId: string; readonly token: number }
  | { readonly type: 'signal'; readonly name: string; readonly payload: Json; readonly eventId: Id | null }
  | { readonly type: 'child_started'; readonly commandId: string }
  | { readonly type: 'child_ended'; readonly commandId: string; readonly end: ChildEnd }
  | { readonly type: 'cancel'; readonly reason: string }
  | { readonly type: 'finalize'; readonly status: 'COMPLETED' | 'FAILED'; readonly error: string | null };

/** A new execution that begins with the log of another one (fork.ts), rows re-keyed to it. */
export interface ForkFact extends Omit<ExecutionForked, 'type'> {
  readonly type: 'fork';
  readonly catalogId: Id;
  readonly rows: readonly EventRow[];
}

/** An event somebody else made: a row without its place in the log. */
export type ProducedEvent = Omit<EventRow, 'stream_version' | 'catalog_id' | 'execution_id' | 'event_id'> & {
  readonly event_id: Id | null;
};

export type Refusal =
  | 'already_terminal'
  | 'stale_claim'
  | 'not_open'
  | 'already_claimed'
  | 'not_started'
  | 'already_started'
  | 'not_due'
  | 'too_many_signals';

export interface Decision {
  readonly rows: readonly EventRow[];
  /** What each row means, at the same index; undefined for a row that moves nothing. */
  readonly events: readonly (DomainEvent | undefined)[];
  /** For other executions. */
  readonly messages: readonly Posted[];
  /** Undefined: accepted. */
  readonly refused?: Refusal;
  /** The command in question, for refusals a caller must explain. */
  readonly command?: Readonly<CommandState>;
}

const NOTHING = { rows: [], events: [], messages: [] };

/** Signals that nobody waits for are kept up to this many. */
const MAX_KEPT_SIGNALS = 1_000;

export function decide(compiled: CompiledPlaybook, state: ExecutionState, fact: Fact, world: World): Decision {
  const turn = beginTurn(compiled, state, world);
  turn.cause = state.lastEventId;
  try {
    return act(turn, fact);
  } catch (error) {
    // Whoever asked loads the reference and decides again, on a fresh state.
    if (error instanceof ReferenceNeeded) throw error;
    // A template that raises while routing, or a defect of ours: this execution ends, its neighbours do not notice.
    if (state.status !== 'RUNNING') throw error;
    const message = error instanceof Error ? error.message : String(error);
    cancelOpen(turn, 'the playbook failed');
    end(turn, 'FAILED', `Evaluation failed: ${message}`, 'evaluate_error');
    return decided(turn);
  }
}

function decided({ rows, events, messages }: Turn): Decision {
  return { rows, events, messages };
}

function act(turn: Turn, fact: Fact): Decision {
  const { state } = turn;
  if (fact.type === 'start') {
    if (state.status !== 'PENDING') return { ...NOTHING, refused: 'already_started' };
    turn.emit({
      type: 'playbook_started',
      path: fact.path,
      catalogId: fact.catalogId,
      workload: mergeWorkload(turn, fact.payload),
      pool: fact.pool,
      engineRev: ENGINE_REV,
      parentExecutionId: fact.parentExecutionId,
      parentEventId: fact.parentEventId,
      trace: fact.trace,
      depth: fact.depth ?? 0,
      caller: fact.caller ?? null,
      ...(fact.rerunOf === undefined ? {} : { rerunOf: fact.rerunOf }),
      ...(fact.callbackUrl === undefined ? {} : { callbackUrl: fact.callbackUrl }),
    });
    turn.cause = state.lastEventId;
    start(turn);
    return decided(turn);
  }
  if (fact.type === 'fork') return fork(turn, fact);
  if (state.status === 'PENDING') return { ...NOTHING, refused: 'not_started' };
  switch (fact.type) {
    case 'event':
      return acceptEvent(turn, fact.row, fact.token);
    case 'claim':
      return claim(turn, fact.commandId, fact.workerId, fact.after);
    case 'release':
    case 'lease_expired':
      return requeue(turn, fact);
    case 'due':
      return due(turn, fact.commandId, fact.token);
    case 'signal':
      return signal(turn, fact);
    case 'child_started':
    case 'child_ended':
      return hearFromChild(turn, fact);
    case 'cancel':
      if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
      cancelOpen(turn, fact.reason);
      end(turn, 'CANCELLED', fact.reason, 'cancelled');
      return decided(turn);
    case 'finalize':
      if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
      cancelOpen(turn, 'the execution was finalized');
      end(turn, fact.status, fact.error, 'finalized');
      return decided(turn);
  }
}

function acceptEvent(turn: Turn, produced: ProducedEvent, token: number | undefined): Decision {
  const { state } = turn;
  const row: EventRow = {
    execution_id: state.executionId,
    event_id: produced.event_id ?? turn.world.nextId(),
    stream_version: state.version + 1,
    catalog_id: state.catalogId,
    parent_event_id: produced.parent_event_id,
    parent_execution_id: produced.parent_execution_id,
    event_type: produced.event_type,
    node_id: produced.node_id,
    node_name: produced.node_name,
    node_type: produced.node_type,
    status: produced.status,
    command_id: produced.command_id ?? commandIdOf(produced) ?? null,
    worker_id: produced.worker_id,
    duration: produced.duration,
    context: produced.context,
    result: produced.result,
    meta: produced.meta,
    error: produced.error,
    created_at: produced.created_at,
  };
  const event = decode(row);
  if (event === undefined || !isCommandEvent(event)) {
    turn.accept(event === undefined ? row : asForeign(row), undefined);
    return decided(turn);
  }
  if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
  const command = state.commands[event.commandId];
  // What the control plane itself waits for is nobody's to report.
  if (command === undefined || command.park !== null) return { ...NOTHING, refused: 'not_open' };
  if (event.type === 'command.claimed') return claim(turn, event.commandId, event.workerId);
  const stale = token !== undefined ? !holds(command, token) : isOtherWorker(command, produced.worker_id);
  if (stale && !command.handedOver) return { ...NOTHING, refused: 'stale_claim', command };
  turn.accept(row, event);
  if (command.handedOver && command.call !== null) closeHandedOver(turn, command, command.call);
  if (state.commands[event.commandId] === undefined) {
    const updates = command.call?.updates ?? {};
    if (Object.keys(updates).length > 0) turn.emit({ type: 'ctx.updated', step: command.step, values: updates });
    commandClosed(turn, command);
  }
  return decided(turn);
}

/** Whoever reports the outcome from elsewhere says how the call ended, and no more. */
function closeHandedOver(turn: Turn, { commandId, step }: CommandState, call: CallOutcome): void {
  if (call.ok) {
    turn.emit({ type: 'command.completed', commandId, step, status: 'success' });
    return;
  }
  const error = call.error ?? 'failed';
  const info = call.info ?? { kind: 'unknown', retryable: false, code: 'UNKNOWN', message: error };
  turn.emit({ type: 'command.failed', commandId, step, error, info });
}

/** A command back in the queue keeps the token of the lease it lost, so the token alone does not tell. */
function holds(command: CommandState, token: number): boolean {
  return command.status !== 'PENDING' && token === command.token;
}

/** For workers that know no tokens. One that never claimed is believed; one whose lease was lost is not. */
function isOtherWorker(command: CommandState, workerId: string | null): boolean {
  if (workerId === null) return false;
  return command.workerId === null ? command.token > 0 : workerId !== command.workerId;
}

function claim(turn: Turn, commandId: string, workerId: string, after?: number): Decision {
  const { state } = turn;
  if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
  const command = state.commands[commandId];
  if (command === undefined || command.park !== null) return { ...NOTHING, refused: 'not_open' };
  if (command.status !== 'PENDING') return { ...NOTHING, refused: 'already_claimed', command };
  if (after !== undefined && after !== command.token) return { ...NOTHING, refused: 'stale_claim', command };
  turn.cause = command.eventId;
  turn.emit({ type: 'command.claimed', commandId, step: command.step, workerId, token: command.token + 1 });
  return { ...decided(turn), command };
}

function requeue(turn: Turn, fact: Extract<Fact, { type: 'release' | 'lease_expired' }>): Decision {
  const { state } = turn;
  if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
  const command = state.commands[fact.commandId];
  if (command === undefined || command.park !== null) return { ...NOTHING, refused: 'not_open' };
  if (command.status === 'PENDING' || command.token !== fact.token)
    return { ...NOTHING, refused: 'stale_claim', command };
  const expired = fact.type === 'lease_expired';
  const counted = expired || fact.countAttempt;
  const reason = expired ? 'lease_expired' : fact.reason;
  // A worker that vanished may have done the work. Only what is safe to do twice is done twice.
  const unsafe = expired && !command.idempotent;
  if (unsafe || (counted && command.attempt >= command.maxAttempts)) {
    const message = unsafe
      ? `worker ${command.workerId} was lost while it ran a command that is declared not idempotent`
      : `gave up after ${command.attempt} attempts: ${reason}`;
    const info = { kind: 'connection', retryable: false, code: expired ? WORKER_LOST : 'RELEASED', message };
    turn.emit({ type: 'command.failed', commandId: command.commandId, step: command.step, error: message, info });
    commandClosed(turn, command);
    return decided(turn);
  }
  turn.emit({
    type: 'command.requeued',
    commandId: command.commandId,
    step: command.step,
    attempt: command.attempt + (counted ? 1 : 0),
    reason,
    delayMs: expired ? 0 : fact.delayMs,
    fromWorker: command.workerId,
    ...(fact.type === 'release' && fact.resume !== undefined ? { resume: fact.resume } : {}),
  });
  return { ...decided(turn), command };
}

/** The deadline of a wait, of a child, or of a worker that holds its command longer than the step may take. */
function due(turn: Turn, commandId: string, token: number): Decision {
  const { state, world } = turn;
  if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
  const command = state.commands[commandId];
  if (command === undefined) return { ...NOTHING, refused: 'not_open' };
  turn.cause = command.eventId;
  if (command.park !== null) {
    if (command.park.dueAt === null || !isDue(command.park.dueAt, world.now))
      return { ...NOTHING, refused: 'not_due', command };
    timeIsUp(turn, commandId);
  } else {
    if (!holds(command, token)) return { ...NOTHING, refused: 'stale_claim', command };
    const message = `the step did not end in time; worker ${command.workerId} still had it`;
    const info = { kind: 'timeout', retryable: true, code: TIMED_OUT, message };
    turn.emit({ type: 'command.failed', commandId, step: command.step, error: message, info });
  }
  commandClosed(turn, command);
  return decided(turn);
}

function signal(turn: Turn, fact: Extract<Fact, { type: 'signal' }>): Decision {
  const { state } = turn;
  if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
  const waiter = waiterFor(state.commands, fact.name);
  const kept = Object.values(state.signals).reduce((sum, payloads) => sum + payloads.length, 0);
  if (waiter === undefined && kept >= MAX_KEPT_SIGNALS) return { ...NOTHING, refused: 'too_many_signals' };
  const { name, payload } = fact;
  const row = turn.emit({ type: 'signal.received', name, payload }, fact.eventId ?? turn.world.nextId());
  turn.cause = row.event_id;
  if (waiter === undefined) return decided(turn);
  deliver(turn, waiter.commandId, name);
  commandClosed(turn, waiter);
  return { ...decided(turn), command: waiter };
}

function hearFromChild(turn: Turn, fact: Extract<Fact, { type: 'child_started' | 'child_ended' }>): Decision {
  const { state } = turn;
  if (isTerminal(state)) return { ...NOTHING, refused: 'already_terminal' };
  const command = state.commands[fact.commandId];
  if (command?.park?.kind !== 'child') return { ...NOTHING, refused: 'not_open' };
  turn.cause = command.eventId;
  if (fact.type === 'child_started') childStarted(turn, command);
  else childEnded(turn, command, fact.end);
  if (state.commands[fact.commandId] === undefined) commandClosed(turn, command);
  return decided(turn);
}

function fork(turn: Turn, fact: ForkFact): Decision {
  const { state } = turn;
  if (state.status !== 'PENDING') return { ...NOTHING, refused: 'already_started' };
  for (const row of fact.rows) turn.accept(row, decode(row));
  const { source, sourceEventId, mode, workload } = fact;
  const row = turn.emit({ type: 'execution.forked', source, sourceEventId, mode, workload });
  turn.cause = row.event_id;
  resume(turn);
  return decided(turn);
}

/**
 * Defaults, then the payload key by key. A default may be a template over the payload, the execution id and the environment;
 * a payload value never is, because it comes from outside.
 */
function mergeWorkload(turn: Turn, payload: JsonObject): JsonObject {
  const { compiled, state, world } = turn;
  const defaults = compiled.playbook.workload;
  const all: JsonObject = { ...defaults, ...payload };
  const id = state.executionId;
  const scope = scopeOf({
    ...world.values,
    ...all,
    workload: all,
    execution_id: id,
    job: { uuid: id, id, execution_id: id },
    __now__: world.now,
  });
  const merged = dictionary<Json>();
  for (const { key, value } of compiled.workload) {
    if (Object.hasOwn(payload, key)) continue;
    // A name that is not known yet belongs to a later render (for example `keychain`): the text stays as it is.
    const known = !value.constant && [...value.roots].every((root) => scope.get(root) !== undefined);
    merged[key] = known ? value.render(scope) : (defaults[key] ?? null);
  }
  return { ...merged, ...payload };
}
