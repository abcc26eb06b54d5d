// What a worker says about a command: the sequences of events that record its start and its end. Pure.
// A command has exactly one of completed, failed and cancelled, and one `command.started` in the lease that ends it; a lease after which
// it was given back has at most one.
import type { CommandReport, LeasedCommand, ReportedEvent } from '@noetl/client';
import type { JsonObject } from '@noetl/core';
import { type ErrorInfo, raisedError } from './tools/errors.js';
import type { ToolResult } from './tools/tool.js';

/** How the run of a tool ended: with a result of any status, or by throwing. */
export type Outcome =
  | { readonly type: 'returned'; readonly result: ToolResult; readonly reference?: JsonObject }
  | { readonly type: 'raised'; readonly error: unknown }
  | { readonly type: 'cancelled' };

export interface RunTimes {
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly durationMs: number;
}

export function reportOf(command: LeasedCommand, events: ReportedEvent[]): CommandReport {
  const { execution_id, command_id, claim_token } = command;
  return { execution_id, command_id, claim_token, events };
}

export function startedEvent(command: LeasedCommand, startedAt: Date): ReportedEvent {
  return event(command, 'command.started', 'STARTED', startedAt, { started_at: startedAt.toISOString() });
}

/** The events that end a command, `command.started` not included. */
export function endingEvents(command: LeasedCommand, outcome: Outcome, times: RunTimes): ReportedEvent[] {
  const { finishedAt, durationMs } = times;
  const timing = { duration_ms: durationMs };
  switch (outcome.type) {
    case 'cancelled':
      return [event(command, 'command.cancelled', 'CANCELLED', finishedAt, {}, timing)];
    case 'raised': {
      const failure = raisedError(outcome.error, command.tool_kind);
      return failed(command, finishedAt, timing, failure.error, failure.error_info);
    }
    case 'returned': {
      const result: ToolResult = { ...outcome.result, duration_ms: outcome.result.duration_ms ?? durationMs };
      const recorded = recordedResult(result, outcome.reference);
      if (result.status === 'success') return succeeded(command, finishedAt, timing, recorded);
      const error = result.error ?? `Tool ended with status ${result.status}`;
      const info = result.error_info ?? raisedError(error, command.tool_kind).error_info;
      return failed(command, finishedAt, timing, error, info, recorded);
    }
  }
}

/** Stands in for a report that the server refuses to read, so that the execution learns of it instead of hanging. */
export function rejectedReport(report: CommandReport, reason: string, at: Date): CommandReport {
  const error = `The result could not be recorded: ${reason}`;
  const { command_id } = report;
  const error_info: ErrorInfo = {
    kind: 'client_error',
    retryable: false,
    code: 'REPORT_REJECTED',
    message: error,
    source: 'worker',
  };
  const events: ReportedEvent[] = [
    {
      event_type: 'command.failed',
      status: 'FAILED',
      created_at: at.toISOString(),
      context: { command_id, error, error_info },
      meta: { command_id },
    },
  ];
  return { ...report, events };
}

/** `reference` tells where the data is when it is not inside. */
function recordedResult(result: ToolResult, reference: JsonObject | undefined): JsonObject {
  return { status: result.status, context: result, ...(reference === undefined ? {} : { reference }) };
}

function succeeded(command: LeasedCommand, at: Date, timing: JsonObject, result: JsonObject): ReportedEvent[] {
  return [
    event(command, 'call.done', 'COMPLETED', at, { call_index: 0, result }, timing),
    event(command, 'command.completed', 'success', at, { status: 'success' }, timing),
  ];
}

function failed(
  command: LeasedCommand,
  at: Date,
  timing: JsonObject,
  error: string,
  error_info: ErrorInfo,
  result?: JsonObject,
): ReportedEvent[] {
  // An error arc may want to read what the tool did bring back, so the result stays with the error.
  const carried: JsonObject = result === undefined ? {} : { result };
  return [
    event(command, 'call.error', 'FAILED', at, { call_index: 0, error, error_info, ...carried }, timing),
    event(command, 'command.failed', 'FAILED', at, { error, error_info }, timing),
  ];
}

function event(
  command: LeasedCommand,
  event_type: ReportedEvent['event_type'],
  status: string,
  at: Date,
  context: JsonObject,
  meta: JsonObject = {},
): ReportedEvent {
  const { command_id, attempt } = command;
  return {
    event_type,
    status,
    created_at: at.toISOString(),
    context: { command_id, ...context },
    meta: { command_id, attempt, ...meta },
  };
}
