// Log rows to domain events: generous, because the log also holds what reference workers and older releases wrote.
import { type Id, parseId } from '../ids/index.js';
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import type {
  Caller,
  CommandContext,
  CursorPart,
  CursorStart,
  DomainEvent,
  ErrorInfo,
  FrameMarked,
  LoopStart,
  Park,
} from './events.js';
import type { EventRow } from './row.js';

/** Undefined: the row is history, but moves nothing. */
export function decode(row: EventRow): DomainEvent | undefined {
  const type = ALIASES[row.event_type] ?? row.event_type;
  const meta = isObject(row.meta) ? row.meta : EMPTY;
  if (meta.external === true) return undefined;
  const result = isObject(row.result) ? row.result : EMPTY;
  const detail = isObject(result.context) ? result.context : EMPTY;
  const step = row.node_name ?? '';
  switch (type) {
    case 'playbook_started': {
      const context = isObject(row.context) ? row.context : EMPTY;
      return {
        type,
        path: text(context.path, step),
        catalogId: parseId(context.catalog_id) ?? row.catalog_id,
        workload: isObject(context.workload) ? context.workload : {},
        pool: text(meta.execution_pool, 'shared'),
        engineRev: count(meta.engine_rev, 0),
        parentExecutionId: row.parent_execution_id,
        parentEventId: row.parent_event_id,
        trace: meta.trace ?? null,
        depth: count(meta.depth, 0),
        caller: callerOf(meta),
        ...rerunOf(meta),
        ...(typeof meta.callback_url === 'string' ? { callbackUrl: meta.callback_url } : {}),
      };
    }
    case 'signal.received': {
      const context = isObject(row.context) ? row.context : EMPTY;
      return { type, name: step, payload: context.payload ?? null };
    }
    case 'signal.delivered':
      return { type, name: step, commandId: row.command_id ?? '' };
    case 'execution.forked': {
      const context = isObject(row.context) ? row.context : EMPTY;
      const { mode } = meta;
      return {
        type,
        source: parseId(meta.source_execution_id) ?? row.execution_id,
        sourceEventId: parseId(meta.source_event_id) ?? null,
        mode: mode === 'from_failure' || mode === 'from_step' ? mode : 'from_event',
        workload: isObject(context.workload) ? context.workload : {},
      };
    }
    case 'step.enter':
      return { type, step, run: count(meta.run, 1), ...loopStart(meta, detail) };
    case 'loop.done':
      return {
        type,
        step,
        run: count(meta.run, 1),
        loopId: text(meta.loop_id, text(detail.loop_id, '')),
        status: row.status === 'FAILED' ? 'FAILED' : 'COMPLETED',
        total: count(detail.iterations_expected, 0),
        succeeded: count(detail.succeeded, 0),
        failed: count(detail.failed, 0),
      };
    case 'step.skipped':
      return { type, step, run: count(meta.run, 0), reason: meta.reason === 'guard' ? 'guard' : 'dead_path' };
    case 'step.failed':
      return { type, step, run: count(meta.run, 1), error: errorOf(row, detail), info: infoOf(row, detail) };
    case 'command.issued':
      return {
        type,
        commandId: commandIdOf(row) ?? `${row.execution_id}:${step}:${row.event_id}`,
        step,
        run: count(meta.run, 1),
        toolKind: text(meta.tool_kind, row.node_type ?? ''),
        pool: text(meta.pool, 'shared'),
        attempt: count(meta.attempt, 1),
        maxAttempts: count(meta.max_attempts, 3),
        idempotent: meta.idempotent !== false,
        ...issuedContext(row),
        ...(meta.single === true ? { single: true } : {}),
        ...(typeof meta.timeout_ms === 'number' ? { timeoutMs: meta.timeout_ms } : {}),
        ...(isObject(meta.output) ? { output: meta.output } : {}),
        ...cursorPart(meta),
        ...(typeof meta.iteration_index !== 'number'
          ? {}
          : {
              iteration: {
                index: meta.iteration_index,
                total: count(meta.iteration_total, 0),
                loopId: text(meta.loop_id, ''),
                iterator: text(meta.item_var, ''),
              },
            }),
      };
    case 'playbook.completed':
      return ended(row, meta, detail, 'COMPLETED');
    case 'playbook.failed':
      return ended(row, meta, detail, 'FAILED');
    case 'playbook_cancelled':
      return ended(row, meta, detail, 'CANCELLED');
    case 'stage.opened':
    case 'stage.closed':
      return {
        type: 'stage.marked',
        mark: type === 'stage.opened' ? 'opened' : 'closed',
        step,
        run: count(meta.run, 1),
        loopId: text(meta.stage_id, ''),
        frames: count(meta.frame_count, 0),
        rows: count(meta.row_count, 0),
        failed: count(meta.failed_count, 0),
      };
    case 'frame.dispatched':
    case 'frame.started':
    case 'frame.committed':
    case 'frame.failed':
      return {
        type: 'frame.marked',
        mark: type.slice('frame.'.length) as FrameMarked['mark'],
        step,
        run: count(meta.run, 1),
        loopId: text(meta.stage_id, ''),
        frame: count(meta.frame, -1),
        rows: count(meta.row_count, 0),
      };
    case 'ctx.updated':
      return { type, step: text(detail.step, ''), values: isObject(detail.values) ? detail.values : {} };
    case 'next.evaluated':
      return {
        type,
        step,
        run: count(detail.run, 1),
        mode: detail.mode === 'inclusive' ? 'inclusive' : 'exclusive',
        taken: indexes(detail.taken),
        dead: indexes(detail.dead),
        tokens: (isObject(detail.tokens) ? detail.tokens : EMPTY) as Record<string, JsonObject>,
        ...(isObject(detail.reset) ? { reset: detail.reset as unknown as Record<string, number[]> } : {}),
        outcome:
          detail.outcome === 'unhandled_failure' || detail.outcome === 'handled_failure' ? detail.outcome : 'success',
      };
    default:
      return decodeCommandEvent(type, row, meta, detail, step);
  }
}

type CommandEvent = Extract<
  DomainEvent,
  {
    type:
      | 'command.claimed'
      | 'command.started'
      | 'call.done'
      | 'call.error'
      | 'command.completed'
      | 'command.handed_over'
      | 'command.failed'
      | 'command.cancelled';
  }
>;

const PRODUCER_TYPES: ReadonlySet<string> = new Set<CommandEvent['type']>([
  'command.claimed',
  'command.started',
  'call.done',
  'call.error',
  'command.completed',
  'command.handed_over',
  'command.failed',
  'command.cancelled',
]);

/** What a worker may say. All else only the engine may write; from anybody else it is history that moves nothing. */
export function isCommandEvent(event: DomainEvent): event is CommandEvent {
  return PRODUCER_TYPES.has(event.type);
}

export function asForeign(row: EventRow): EventRow {
  return { ...row, meta: { ...(isObject(row.meta) ? row.meta : {}), external: true } };
}

function decodeCommandEvent(
  type: string,
  row: EventRow,
  meta: JsonObject,
  detail: JsonObject,
  step: string,
): DomainEvent | undefined {
  const commandId = commandIdOf(row);
  if (commandId === undefined) return undefined;
  switch (type) {
    case 'command.claimed':
      return {
        type,
        commandId,
        step,
        workerId: row.worker_id ?? text(meta.worker_id, text(detail.worker_id, '')),
        token: count(meta.claim_token, 1),
      };
    case 'command.started':
      return { type, commandId, step };
    case 'command.requeued':
      return {
        type,
        commandId,
        step,
        attempt: count(meta.attempt, 1),
        reason: text(meta.reason, ''),
        delayMs: count(meta.delay_ms, 0),
        fromWorker: typeof meta.reclaimed_from_worker === 'string' ? meta.reclaimed_from_worker : null,
        ...(isObject(row.context) && row.context.resume !== undefined ? { resume: row.context.resume } : {}),
      };
    case 'call.done': {
      const outcome = callOutcome(detail);
      return { type, commandId, step, ...outcome };
    }
    case 'call.error':
      return {
        type,
        commandId,
        step,
        error: errorOf(row, detail),
        info: infoOf(row, detail),
        data: callOutcome(detail).data,
        updates: callOutcome(detail).updates,
      };
    case 'command.completed':
      if (detail.pending_callback === true) return { type: 'command.handed_over', commandId, step };
      return { type, commandId, step, status: row.status ?? 'success' };
    case 'command.failed':
      return { type, commandId, step, error: errorOf(row, detail), info: infoOf(row, detail) };
    case 'command.cancelled':
      return { type, commandId, step, reason: text(meta.reason, 'cancelled') };
    default:
      return undefined;
  }
}

/** Reference workers put it in the payload, ours in the column; a finished command must be recognised either way. */
export function commandIdOf(row: Pick<EventRow, 'command_id' | 'meta' | 'result'>): string | undefined {
  if (row.command_id !== null) return row.command_id;
  const meta = isObject(row.meta) ? row.meta.command_id : undefined;
  if (typeof meta === 'string') return meta;
  const result = isObject(row.result) ? row.result : EMPTY;
  for (const place of [result.context, result.data]) {
    if (isObject(place) && typeof place.command_id === 'string') return place.command_id;
  }
  return undefined;
}

/** `<execution>:<step>:<event>`, and `:i<index>` for an iteration. Steps may hold colons; the event is `command.issued`. */
const COMMAND_ID = /^\d+:(.*):(\d+)(?::i\d+)?$/s;

export function commandEventId(commandId: string): Id | undefined {
  return parseId(COMMAND_ID.exec(commandId)?.[2]);
}

export function commandStep(commandId: string): string | undefined {
  return COMMAND_ID.exec(commandId)?.[1];
}

/** The tool's data sits at `result.context.data` of the call; older producers nest it less deeply. */
function callOutcome(detail: JsonObject): { status: string; data: Json; error: string | null; updates: JsonObject } {
  const result = isObject(detail.result) ? detail.result : undefined;
  const inner = result !== undefined && isObject(result.context) ? result.context : undefined;
  const status = text(result?.status, text(inner?.status, 'success'));
  const error = text(inner?.error, '') || null;
  const data = inner !== undefined ? (inner.data ?? null) : (detail.data ?? result ?? null);
  return { status, data, error, updates: updatesOf(inner, data) };
}

/** A single tool with a policy reports them beside its data, a list of tools inside it. */
function updatesOf(inner: JsonObject | undefined, data: Json): JsonObject {
  const beside = inner?.context_updates;
  if (isObject(beside)) return beside;
  const inside = isObject(data) ? data._context_updates : undefined;
  return isObject(inside) ? inside : EMPTY;
}

function loopStart(meta: JsonObject, detail: JsonObject): { loop?: LoopStart } {
  if (!Array.isArray(detail.collection)) return {};
  const { on_error } = detail;
  return {
    loop: {
      loopId: text(meta.loop_id, ''),
      iterator: text(detail.iterator_var, 'item'),
      items: detail.collection,
      maxInFlight: count(detail.max_in_flight, 1),
      onError: on_error === 'continue' || on_error === 'fail_fast' ? on_error : 'stop',
      ...(isObject(detail.frame) ? { cursor: detail.frame as unknown as CursorStart } : {}),
    },
  };
}

function callerOf(meta: JsonObject): Caller | null {
  const { parent_command_id: commandId, return_step: returnStep } = meta;
  if (typeof commandId !== 'string') return null;
  return { commandId, returnStep: typeof returnStep === 'string' ? returnStep : null };
}

function rerunOf(meta: JsonObject): { rerunOf?: Id } {
  const id = parseId(meta.rerun_of);
  return id === undefined ? {} : { rerunOf: id };
}

/** What the worker gets and what the control plane itself waits for share the row's context. */
function issuedContext(row: EventRow): { context: CommandContext; park?: Park } {
  if (!isObject(row.context)) return { context: EMPTY as unknown as CommandContext };
  if (row.context.park === undefined) return { context: row.context as unknown as CommandContext };
  const { park, ...context } = row.context;
  return { context: context as unknown as CommandContext, park: park as unknown as Park };
}

function cursorPart(meta: JsonObject): { cursor?: CursorPart } {
  if (!isObject(meta.cursor)) return {};
  const { phase, frame, row } = meta.cursor;
  return {
    cursor: {
      phase: phase === 'claim' ? 'claim' : 'body',
      frame: count(frame, 0),
      ...(typeof row === 'number' ? { row } : {}),
    },
  };
}

function ended(
  row: EventRow,
  meta: JsonObject,
  detail: JsonObject,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
): DomainEvent {
  const failed = meta.failed_steps;
  return {
    type: 'playbook.ended',
    status,
    error: row.error ?? (text(meta.error, text(detail.error, '')) || null),
    failedSteps: Array.isArray(failed) ? failed.filter((name) => typeof name === 'string') : [],
    reason: text(meta.reason, ''),
  };
}

const ALIASES: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  'playbook.started': 'playbook_started',
  'playbook.initialized': 'playbook_started',
  playbook_initialized: 'playbook_started',
  step_enter: 'step.enter',
  step_started: 'step.enter',
  step_skipped: 'step.skipped',
  step_failed: 'step.failed',
  playbook_completed: 'playbook.completed',
  'workflow.completed': 'playbook.completed',
  playbook_failed: 'playbook.failed',
  'workflow.failed': 'playbook.failed',
  'playbook.cancelled': 'playbook_cancelled',
  'execution.cancelled': 'playbook_cancelled',
}) as Record<string, string>;

const EMPTY: JsonObject = Object.freeze({});

function errorOf(row: EventRow, detail: JsonObject): string {
  return row.error ?? text(detail.error, 'failed');
}

function infoOf(row: EventRow, detail: JsonObject): ErrorInfo {
  const message = errorOf(row, detail);
  const given = isObject(detail.error_info) ? detail.error_info : EMPTY;
  return {
    ...given,
    kind: text(given.kind, 'unknown'),
    retryable: given.retryable === true,
    code: text(given.code, 'UNKNOWN'),
    message: text(given.message, message),
  };
}

const text = (value: Json | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback);
const count = (value: Json | undefined, fallback: number): number => (typeof value === 'number' ? value : fallback);
const indexes = (value: Json | undefined): number[] =>
  Array.isArray(value) ? value.filter((index) => typeof index === 'number') : [];
