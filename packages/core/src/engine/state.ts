// What the engine remembers of one execution. It is a fold of the log (evolve.ts) and nothing else: plain JSON, so it can be
// cached, snapshotted, compared and shown. It holds open commands only, never the history of finished ones.
import type { Id } from '../ids/index.js';
import type { Json, JsonObject } from '../json/types.js';
import type { Caller, CursorPart, CursorStart, ErrorInfo, Park } from './events.js';

export type ExecutionStatus = 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

export interface ExecutionState {
  executionId: Id;
  catalogId: Id;
  path: string;
  /** Number of events folded in. */
  version: number;
  lastEventId: Id | null;
  status: ExecutionStatus;
  engineRev: number;
  pool: string;
  parentExecutionId: Id | null;
  parentEventId: Id | null;
  trace: Json;
  depth: number;
  caller: Caller | null;
  callbackUrl: string | null;
  workload: JsonObject;
  ctx: JsonObject;
  /** Only steps that were touched. */
  steps: Record<string, StepState>;
  /** Steps that hold a token and wait for their other branches: the arguments the tokens carry. */
  waiting: Record<string, JsonObject>;
  /** Open commands. */
  commands: Record<string, CommandState>;
  /** Signals that came before anybody waited for them, oldest first. */
  signals: Record<string, Json[]>;
  /** The first failure that no arc handled: nothing new is dispatched from then on. */
  failure: Failure | null;
  failedSteps: string[];
  /** The step that finished last with a value. */
  lastStep: string | null;
  error: string | null;
  startedAt: string | null;
  endedAt: string | null;
}

export type StepPhase = 'idle' | 'active' | 'done' | 'failed' | 'skipped' | 'guarded';

export interface StepState {
  run: number;
  phase: StepPhase;
  /** Dispatched or skipped in its current epoch. */
  decided: boolean;
  taken: readonly number[];
  dead: readonly number[];
  args: JsonObject;
  vars: JsonObject;
  toolKind: string | null;
  attempt: number;
  hasData: boolean;
  data: Json;
  error: string | null;
  info: ErrorInfo | null;
  failedEventId: Id | null;
  enteredAt: string | null;
  finishedAt: string | null;
  /** Only for a step that loops. */
  loop: LoopState | null;
}

/** A loop keeps its items and results, and a window of what is running: never the history of its commands. */
export interface LoopState {
  readonly loopId: string;
  readonly iterator: string;
  readonly items: readonly Json[];
  readonly maxInFlight: number;
  readonly onError: 'stop' | 'continue' | 'fail_fast';
  /** Index of the next item to issue. */
  next: number;
  /** Items to issue once more, before any further one. */
  again: number[];
  running: number;
  succeeded: number;
  /** By index; null for an item that failed or never ran. */
  results: Json[];
  errors: LoopError[];
  cursor: CursorState | null;
}

/** Rows live here only while their frame is open: a cursor may claim for ever. */
export interface CursorState extends CursorStart {
  nextFrame: number;
  /** Frames that held rows. */
  filled: number;
  /** Claims on their way. */
  claiming: number;
  /** A claim brought no rows, or failed: nothing more is claimed. */
  drained: boolean;
  claimFailed: boolean;
  failed: number;
  frames: Record<string, Frame>;
}

export interface Frame {
  rows: readonly Json[];
  next: number;
  /** Rows to run once more, before any further one. */
  again: number[];
  open: number;
}

export interface LoopError {
  readonly index: number;
  readonly error: string;
  readonly info: ErrorInfo | null;
}

export interface CommandState {
  readonly commandId: string;
  /** The `command.issued` event. */
  readonly eventId: Id;
  readonly step: string;
  readonly run: number;
  readonly toolKind: string;
  readonly pool: string;
  readonly maxAttempts: number;
  readonly idempotent: boolean;
  /** Index of the item, for one item of a loop. */
  readonly iteration: number | null;
  readonly cursor: CursorPart | null;
  /** Set when no worker runs it. */
  readonly park: Park | null;
  status: 'PENDING' | 'CLAIMED' | 'RUNNING' | 'WAITING';
  /** Its outcome is reported by somebody who never claimed it. */
  handedOver: boolean;
  attempt: number;
  token: number;
  workerId: string | null;
  /** The call's outcome, reported before the command itself is closed. */
  call: CallOutcome | null;
  issuedAt: string;
}

export interface CallOutcome {
  readonly ok: boolean;
  readonly data: Json;
  readonly error: string | null;
  readonly info: ErrorInfo | null;
  readonly updates: JsonObject;
}

export interface Failure {
  readonly step: string;
  readonly error: string;
  readonly info: ErrorInfo | null;
  readonly eventId: Id | null;
}

export function initialState(executionId: Id): ExecutionState {
  return {
    executionId,
    catalogId: '0' as Id,
    path: '',
    version: 0,
    lastEventId: null,
    status: 'PENDING',
    engineRev: 0,
    pool: 'shared',
    parentExecutionId: null,
    parentEventId: null,
    trace: null,
    depth: 0,
    caller: null,
    callbackUrl: null,
    workload: {},
    ctx: dictionary(),
    steps: dictionary(),
    waiting: dictionary(),
    commands: dictionary(),
    signals: dictionary(),
    failure: null,
    failedSteps: [],
    lastStep: null,
    error: null,
    startedAt: null,
    endedAt: null,
  };
}

/** Keyed by names an author chose: without a prototype, so a step called `constructor` is just a step. */
export function dictionary<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

export function newStep(): StepState {
  return {
    run: 0,
    phase: 'idle',
    decided: false,
    taken: [],
    dead: [],
    args: {},
    vars: {},
    toolKind: null,
    attempt: 0,
    hasData: false,
    data: null,
    error: null,
    info: null,
    failedEventId: null,
    enteredAt: null,
    finishedAt: null,
    loop: null,
  };
}

export function isTerminal(state: ExecutionState): boolean {
  return state.status === 'COMPLETED' || state.status === 'FAILED' || state.status === 'CANCELLED';
}
