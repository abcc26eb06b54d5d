// The contract between the runtime and a tool. A tool answers with a result, also for a failure it understands;
// what it throws is reported as a failure too. It must stop promptly when `signal` fires. A tool that waits for something
// outside suspends itself instead of holding its slot.
import type { Json, JsonObject } from '@noetl/core';
import type { ExecutionApi } from '../api.js';
import type { WorkerLog } from '../log.js';
import type { ResultAccess } from '../results/index.js';
import type { ErrorInfo } from './errors.js';
import type { ToolRegistry } from './index.js';

export interface ToolCall {
  /** Rendered tool configuration, `kind` included. */
  readonly config: JsonObject;
  /** Rendered inputs: the step's, overlaid with the tool's own. */
  readonly input: JsonObject;
  /** The context roots that the step mentions. */
  readonly context: JsonObject;
  readonly signal: AbortSignal;
  /** The same for every attempt. */
  readonly commandId: string;
  /** What a target may recognise a repeated request by, when one command sends several. Absent: the command id. */
  readonly idempotencyKey?: string;
  readonly executionId: string;
  readonly step: string;
  readonly attempt: number;
  /** What the author asked for; absent means the tool's own default. */
  readonly timeoutMs?: number;
  /** What the engine noted about the command. */
  readonly meta: JsonObject;
  /** The tools of this worker, for a tool that runs others. */
  readonly tools: ToolRegistry;
  /** Results that are kept by reference. */
  readonly results: ResultAccess;
  /** For a tool that starts executions. */
  readonly executions: ExecutionApi;
  /** The state that the tool suspended itself with; absent when it is called for the first time. */
  readonly resume?: Json;
  readonly log: WorkerLog;
}

/** What `signal` fires with. Only a cancelled command is over; a lost or a released one goes on elsewhere. */
export class CommandAborted extends Error {
  readonly why: 'cancelled' | 'lost' | 'released';

  constructor(why: CommandAborted['why']) {
    super(`command ${why}`);
    this.name = 'CommandAborted';
    this.why = why;
  }
}

export type ToolStatus = 'success' | 'error' | 'timeout';

/** Recorded as it is in the event log. A type alias, because it must be usable as a `JsonObject`. */
export type ToolResult = {
  status: ToolStatus;
  data?: Json;
  error?: string;
  error_info?: ErrorInfo;
  stdout?: string;
  stderr?: string;
  exit_code?: number;
  duration_ms?: number;
  /** Some output was dropped from the middle of stdout or stderr. */
  truncated?: boolean;
  /** Values that policy rules and `set` of a single task leave for the execution's context, by key as written. */
  context_updates?: JsonObject;
};

/**
 * Not an end: the tool is called again after `delayMs`, perhaps by another worker, with `state` as its `resume`. Until then it holds no
 * slot. The state is kept in the log, so it should be small.
 */
export interface Suspension {
  readonly status: 'suspended';
  readonly delayMs: number;
  readonly state: Json;
  /** What is waited for, in words for people. */
  readonly reason: string;
}

export type ToolAnswer = ToolResult | Suspension;

export interface Tool<Answer extends ToolAnswer = ToolResult> {
  readonly kind: string;
  /** Wants references as they are; other tools get the values they stand for. */
  readonly takesReferences?: boolean;
  run(call: ToolCall): Promise<Answer>;
  /** Lets go of what is kept between calls (connections, files). A call that comes afterwards still works. */
  close?(): Promise<void>;
}

/** A tool that may suspend itself, or one that never does. */
export type AnyTool = Tool<ToolAnswer>;

export function timedOut(timeoutMs: number, errorInfo: ErrorInfo): ToolResult {
  return { status: 'timeout', error: timeoutMessage(timeoutMs), error_info: errorInfo, duration_ms: timeoutMs };
}

export function timeoutMessage(timeoutMs: number): string {
  return `Execution timed out after ${timeoutMs / 1000} seconds`;
}
