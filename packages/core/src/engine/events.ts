// The events that move an execution, as the engine sees them. encode.ts and decode.ts map each to and from its row in the log;
// an event type that is not in this union is stored and shown, but moves nothing.
import type { Id } from '../ids/index.js';
import type { Json, JsonObject } from '../json/types.js';

export type DomainEvent =
  | PlaybookStarted
  | StepEntered
  | StepSkipped
  | StepFailed
  | CommandIssued
  | CommandClaimed
  | CommandStarted
  | CommandRequeued
  | CallDone
  | CallFailed
  | CommandCompleted
  | CommandFailed
  | CommandCancelled
  | LoopDone
  | ContextUpdated
  | NextEvaluated
  | PlaybookEnded;

export interface PlaybookStarted {
  readonly type: 'playbook_started';
  readonly path: string;
  readonly catalogId: Id;
  readonly workload: JsonObject;
  readonly pool: string;
  readonly engineRev: number;
  readonly parentExecutionId: Id | null;
  readonly parentEventId: Id | null;
  readonly trace: Json;
}

export interface StepEntered {
  readonly type: 'step.enter';
  readonly step: string;
  /** Visit number, from 1. */
  readonly run: number;
  /** The collection of a loop, kept once for the whole visit. */
  readonly loop?: LoopStart;
}

export interface LoopStart {
  /** Names this turn of the loop in the log and in replay. */
  readonly loopId: string;
  readonly iterator: string;
  readonly items: readonly Json[];
  readonly maxInFlight: number;
  readonly onError: 'stop' | 'continue' | 'fail_fast';
}

/** Every iteration that was going to run has ended; the step's value is made of their results. */
export interface LoopDone {
  readonly type: 'loop.done';
  readonly step: string;
  readonly run: number;
  readonly loopId: string;
  readonly status: 'COMPLETED' | 'FAILED';
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
}

export interface StepSkipped {
  readonly type: 'step.skipped';
  readonly step: string;
  readonly run: number;
  /** `dead_path`: no branch can reach it any more. `guard`: its own `when` said no; its arcs are still followed. */
  readonly reason: 'dead_path' | 'guard';
}

/** The step failed before or without a command, for example because its input could not be rendered. */
export interface StepFailed {
  readonly type: 'step.failed';
  readonly step: string;
  readonly run: number;
  readonly error: string;
  readonly info: ErrorInfo;
}

export interface ErrorInfo {
  readonly kind: string;
  readonly retryable: boolean;
  readonly code: string;
  readonly message: string;
  readonly [detail: string]: Json | undefined;
}

export interface CommandIssued {
  readonly type: 'command.issued';
  readonly commandId: string;
  readonly step: string;
  readonly run: number;
  readonly toolKind: string;
  readonly pool: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly idempotent: boolean;
  readonly context: CommandContext;
  /** One tool with a policy: its result is not nested under a label. */
  readonly single?: boolean;
  /** Set for one item of a loop. */
  readonly iteration?: Iteration;
}

export interface Iteration {
  readonly index: number;
  readonly total: number;
  readonly loopId: string;
  readonly iterator: string;
}

/** What a worker needs to run the command: rendered configuration, inputs, and the context roots the step mentions. */
export interface CommandContext {
  readonly tool_config: Json;
  readonly args: JsonObject;
  readonly render_context: JsonObject;
}

export interface CommandClaimed {
  readonly type: 'command.claimed';
  readonly commandId: string;
  readonly step: string;
  readonly workerId: string;
  readonly token: number;
}

export interface CommandStarted {
  readonly type: 'command.started';
  readonly commandId: string;
  readonly step: string;
}

/** Back in the queue: its lease ran out, or its worker gave it back. */
export interface CommandRequeued {
  readonly type: 'command.requeued';
  readonly commandId: string;
  readonly step: string;
  readonly attempt: number;
  readonly reason: string;
  readonly delayMs: number;
  readonly fromWorker: string | null;
}

export interface CallDone {
  readonly type: 'call.done';
  readonly commandId: string;
  readonly step: string;
  /** `success`, or what a worker that does not raise calls an error. */
  readonly status: string;
  readonly data: Json;
  readonly error: string | null;
  /** Context values that a list of tools has set on its way. */
  readonly updates: JsonObject;
}

export interface CallFailed {
  readonly type: 'call.error';
  readonly commandId: string;
  readonly step: string;
  readonly error: string;
  readonly info: ErrorInfo;
  readonly data: Json;
  readonly updates: JsonObject;
}

export interface CommandCompleted {
  readonly type: 'command.completed';
  readonly commandId: string;
  readonly step: string;
  readonly status: string;
}

export interface CommandFailed {
  readonly type: 'command.failed';
  readonly commandId: string;
  readonly step: string;
  readonly error: string;
  readonly info: ErrorInfo;
}

export interface CommandCancelled {
  readonly type: 'command.cancelled';
  readonly commandId: string;
  readonly step: string;
  readonly reason: string;
}

export interface ContextUpdated {
  readonly type: 'ctx.updated';
  readonly step: string;
  /** Dotted keys write into nested objects. */
  readonly values: JsonObject;
}

/** A routing decision, taken once and never recomputed: replay needs no template. */
export interface NextEvaluated {
  readonly type: 'next.evaluated';
  readonly step: string;
  readonly run: number;
  readonly mode: 'exclusive' | 'inclusive';
  /** Arc indexes in document order. An arc in neither list is pending: a loop may still take it. */
  readonly taken: readonly number[];
  readonly dead: readonly number[];
  /** Targets that now hold a token, with the arguments their arcs carry. */
  readonly tokens: Readonly<Record<string, JsonObject>>;
  /** Set when an arc went back: the steps that begin a new epoch, each with those of its arcs that stay taken. */
  readonly reset?: Readonly<Record<string, readonly number[]>>;
  readonly outcome: 'success' | 'handled_failure' | 'unhandled_failure';
}

export interface PlaybookEnded {
  readonly type: 'playbook.ended';
  readonly status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
  readonly error: string | null;
  readonly failedSteps: readonly string[];
  /** `evaluate_error`, `cancelled`, `finalized` or `quiescent`. */
  readonly reason: string;
}
