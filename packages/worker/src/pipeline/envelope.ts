// The outcome of one execution of a task as its policy rules see it: the same fields whether the tool answered, failed
// or threw, and for every dialect that rules are written in.
import { isObject, type Json, type JsonObject, synonym, tolerant } from '@noetl/core';
import { type ErrorInfo, raisedError } from '../tools/errors.js';
import type { ToolResult } from '../tools/tool.js';

export interface Execution {
  readonly kind: string;
  readonly result: ToolResult;
  readonly attempt: number;
  readonly durationMs: number;
  /** The task's own inputs; none when they could not be rendered. */
  readonly input: JsonObject;
}

const OK_WORDS = ['ok', 'success', 'completed', 'done'];
const ERROR_WORDS = ['error', 'failed', 'failure'];

export function envelopeOf(execution: Execution): Record<string, unknown> {
  const { result, attempt, durationMs } = execution;
  const ok = result.status === 'success';
  const data = tolerant(result.data);
  return {
    status: ok ? synonym('ok', OK_WORDS) : synonym('error', ERROR_WORDS),
    ok,
    data,
    response: data,
    result: data,
    ref: isObject(result.data) ? (result.data['_ref'] ?? null) : null,
    error: ok ? null : describe(errorInfoOf(execution)),
    meta: { attempt, duration_ms: durationMs },
    ...sourceDetails(execution),
  };
}

/** Why it failed, also when the tool said so only in words. */
export function errorInfoOf({ kind, result }: Execution): ErrorInfo {
  return result.error_info ?? raisedError(errorTextOf(result), kind).error_info;
}

export function errorTextOf(result: ToolResult): string {
  return result.error ?? `Tool ended with status ${result.status}`;
}

function describe(info: ErrorInfo): JsonObject {
  const status = info.http_status;
  return status === undefined ? info : { ...info, status, status_code: status };
}

function sourceDetails({ kind, result }: Execution): JsonObject {
  const data: JsonObject = isObject(result.data) ? result.data : {};
  const info = result.error_info;
  switch (kind) {
    case 'http': {
      const headers = data['headers'];
      const status: Json = data['status_code'] ?? info?.http_status ?? null;
      return { http: { status, headers: isObject(headers) ? headers : {} } };
    }
    case 'postgres': {
      const code = info?.pg_code ?? null;
      return { pg: { code, sqlstate: code } };
    }
    case 'python':
      return { py: { exception: info?.exception_type ?? null, traceback: info?.details?.['traceback'] ?? null } };
    default:
      return {};
  }
}
