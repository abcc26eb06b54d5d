// The contract between the runtime and a tool. A tool answers with a result, also for a failure it understands;
// what it throws is reported as a failure too. It must stop promptly when `signal` fires.
import type { Json, JsonObject } from '@noetl/core';
import type { WorkerLog } from '../log.js';
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
  readonly log: WorkerLog;
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

export interface Tool {
  readonly kind: string;
  run(call: ToolCall): Promise<ToolResult>;
}

export function timedOut(timeoutMs: number, errorInfo: ErrorInfo): ToolResult {
  return { status: 'timeout', error: timeoutMessage(timeoutMs), error_info: errorInfo, duration_ms: timeoutMs };
}

export function timeoutMessage(timeoutMs: number): string {
  return `Execution timed out after ${timeoutMs / 1000} seconds`;
}
