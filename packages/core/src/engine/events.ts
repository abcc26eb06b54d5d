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
  | CommandHandedOver
  | CommandFailed
  | CommandCancelled
  | LoopDone
  | SignalReceived
  | SignalDelivered
  | ExecutionForked
  | ContextUpdated
  | ObjectEmitted
  | StageMarked
  | FrameMarked
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
  /** 0 for an execution that nobody's step started. */
  readonly depth: number;
  /** The command of the parent that waits for this execution's end, and whose step's data it wants. */
  readonly caller: Caller | null;
  /** Set for an execution that repeats another one from its start. */
  readonly rerunOf?: Id;
  /** Who wants to hear of the end. */
  readonly callbackUrl?: string;
}

export interface Caller {
  readonly commandId: string;
  readonly returnStep: string | null;
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
  /** The items are not known yet: they are claimed frame by frame until a claim brings none. */
  readonly cursor?: CursorStart;
}

export interface CursorStart {
  readonly maxRows: number;
  readonly rowConcurrency: number;
  /** `row`: the body runs once per row. `frame`: once per frame. */
  readonly process: 'row' | 'frame';
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
  readonly cursor?: CursorPart;
  /** How long a worker may take once it has claimed the command. */
  readonly timeoutMs?: number;
  /** No worker runs it: the control plane waits for something. */
  readonly park?: Park;
  /** How the author wants the result kept. */
  readonly output?: JsonObject;
}

/** Which part of a cursor loop a command is: it claims a frame of rows, or it is the body for one of them. */
export interface CursorPart {
  readonly phase: 'claim' | 'body';
  readonly frame: number;
  readonly row?: number;
}

export type Park = WaitPark | ChildPark;

export interface WaitPark {
  readonly kind: 'wait';
  /** Ends the wait without this signal only by time. */
  readonly signal: string | null;
  readonly dueAt: string | null;
  /** What the time being up means: the end of the wait, or that the signal did not come. */
  readonly onDue: 'continue' | 'fail';
}

export interface ChildPark {
  readonly kind: 'child';
  readonly executionId: Id;
  readonly path: string | null;
  readonly catalogId: Id | null;
  readonly version: Json;
  readonly payload: JsonObject;
  /** False: the step is done as soon as the child has started. */
  readonly wait: boolean;
  readonly returnStep: string | null;
  readonly dueAt: string | null;
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
  /** Where a list of tools goes on when the command is claimed again. */
  readonly resume?: Json;
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

/** The worker has started something whose outcome will be reported from elsewhere: the command is open, and nobody's lease. */
export interface CommandHandedOver {
  readonly type: 'command.handed_over';
  readonly commandId: string;
  readonly step: string;
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

/** Somebody outside says that something has happened. It is kept until a command waits for it. */
export interface SignalReceived {
  readonly type: 'signal.received';
  readonly name: string;
  readonly payload: Json;
}

/** The oldest signal of this name has ended the wait of one command, and is used up. */
export interface SignalDelivered {
  readonly type: 'signal.delivered';
  readonly name: string;
  readonly commandId: string;
}

/**
 * Everything before this event was copied from another execution. From here on this execution is its own: what was open is
 * issued anew, and failures that are being repaired are forgotten.
 */
export interface ExecutionForked {
  readonly type: 'execution.forked';
  readonly source: Id;
  readonly sourceEventId: Id | null;
  readonly mode: 'from_failure' | 'from_step' | 'from_event';
  readonly workload: JsonObject;
}

export interface ContextUpdated {
  readonly type: 'ctx.updated';
  readonly step: string;
  /** Dotted keys write into nested objects. */
  readonly values: JsonObject;
}

/** What a step says about a thing it has touched. It moves nothing; its row has the author's own event type. */
export interface ObjectEmitted {
  readonly type: 'object.emitted';
  readonly eventType: string;
  readonly step: string;
  readonly run: number;
  readonly status: string | null;
  /** `object_type`, `object_id`, and `patch` or `state`. */
  readonly object: JsonObject;
}

/** A cursor loop begins or has ended, for those who read the log as stages and frames. */
export interface StageMarked {
  readonly type: 'stage.marked';
  readonly mark: 'opened' | 'closed';
  readonly step: string;
  readonly run: number;
  readonly loopId: string;
  readonly frames: number;
  readonly rows: number;
  readonly failed: number;
}

/** What becomes of one frame of a cursor loop. A committed frame is over, and its rows are forgotten. */
export interface FrameMarked {
  readonly type: 'frame.marked';
  readonly mark: 'dispatched' | 'started' | 'committed' | 'failed';
  readonly step: string;
  readonly run: number;
  readonly loopId: string;
  readonly frame: number;
  readonly rows: number;
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
