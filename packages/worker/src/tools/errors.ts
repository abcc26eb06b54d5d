// Why something failed, in words that a policy rule can test (`output.error.kind`, `output.error.retryable`).
// One function for each source of errors; together they are the table in docs/errors.md.
import type { JsonObject } from '@noetl/core';

export type ErrorKind =
  | 'rate_limit'
  | 'auth'
  | 'not_found'
  | 'client_error'
  | 'server_error'
  | 'timeout'
  | 'connection'
  | 'db_deadlock'
  | 'db_constraint'
  | 'db_connection'
  | 'db_timeout'
  | 'parse'
  | 'schema'
  | 'transform'
  | 'storage_quota'
  | 'storage_access'
  | 'missing_reference'
  | 'configuration'
  | 'process'
  | 'child'
  | 'unknown';

/** A type alias, because it must be usable as a `JsonObject`. */
export type ErrorInfo = {
  kind: ErrorKind;
  retryable: boolean;
  code: string;
  message: string;
  source: string;
  http_status?: number;
  /** Seconds. */
  retry_after?: number;
  pg_code?: string;
  exception_type?: string;
  details?: JsonObject;
};

/** Thrown by a tool that cannot say more than this: the runtime records both parts. */
export class ToolError extends Error {
  readonly info: ErrorInfo;

  constructor(message: string, info: Omit<ErrorInfo, 'message'>, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolError';
    this.info = { ...info, message };
  }
}

export function configurationError(kind: string, detail: string): ToolError {
  return new ToolError(`Configuration error: Invalid ${kind} config: ${detail}`, {
    kind: 'configuration',
    retryable: false,
    code: 'INVALID_CONFIG',
    source: kind,
  });
}

export function toolNotFound(kind: string, tools: ReadonlyMap<string, unknown>): ToolError {
  const known = [...tools.keys()].sort();
  return new ToolError(`Tool not found: ${kind} (this worker runs ${known.join(', ')})`, {
    kind: 'configuration',
    retryable: false,
    code: 'TOOL_NOT_FOUND',
    source: kind,
    details: { known },
  });
}

/** Whatever a tool threw, as the two fields that events carry. */
export function raisedError(error: unknown, source: string): { error: string; error_info: ErrorInfo } {
  if (error instanceof ToolError) return { error: error.message, error_info: error.info };
  const detail = error instanceof Error ? error.message : String(error);
  const message = `Execution failed: ${detail}`;
  const type = error instanceof Error ? { exception_type: error.name } : {};
  return {
    error: message,
    error_info: { kind: 'unknown', retryable: false, code: 'TOOL_FAILED', message, source, ...type },
  };
}

export function httpError(status: number, message: string, retryAfterSeconds?: number): ErrorInfo {
  const info = (kind: ErrorKind, retryable: boolean): ErrorInfo => ({
    kind,
    retryable,
    code: `HTTP_${status}`,
    message,
    source: 'http',
    http_status: status,
    ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }),
  });
  if (status === 429) return info('rate_limit', true);
  if (status === 401 || status === 403) return info('auth', false);
  if (status === 404) return info('not_found', false);
  return status >= 500 ? info('server_error', true) : info('client_error', false);
}

const CONNECT_TIMEOUTS = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** `systemCode` is the `code` of a Node or undici error. */
export function connectionError(systemCode: string | undefined, message: string, source: string): ErrorInfo {
  const info = (kind: ErrorKind, code: string): ErrorInfo => ({ kind, retryable: true, code, message, source });
  if (systemCode !== undefined && CONNECT_TIMEOUTS.has(systemCode)) return info('timeout', 'CONN_TIMEOUT');
  if (systemCode === 'ECONNREFUSED') return info('connection', 'CONN_REFUSED');
  if (systemCode === 'ENOTFOUND' || systemCode === 'EAI_AGAIN') return info('connection', 'DNS_ERROR');
  return info('connection', 'CONN_ERROR');
}

export function postgresError(sqlState: string | undefined, message: string): ErrorInfo {
  const text = message.toLowerCase();
  const info = (kind: ErrorKind, retryable: boolean): ErrorInfo => ({
    kind,
    retryable,
    code: `PG_${sqlState ?? 'UNKNOWN'}`,
    message,
    source: 'postgres',
    ...(sqlState === undefined ? {} : { pg_code: sqlState }),
  });
  // A SQLSTATE is exact; the words are only asked when the driver gave none.
  if (sqlState !== undefined) {
    if (sqlState === '40001' || sqlState === '40P01') return info('db_deadlock', true);
    if (sqlState.startsWith('23')) return info('db_constraint', false);
    // No connection, no resources, shutting down: another moment may be better.
    if (/^(08|53|57P0)/.test(sqlState)) return info('db_connection', true);
    if (sqlState === '57014' || sqlState === '55P03') return info('db_timeout', true);
    if (sqlState.startsWith('28') || sqlState === '42501') return info('auth', false);
    // The SQL does not fit the database; a value does not fit its type.
    if (/^(42|3D|3F)/.test(sqlState)) return info('schema', false);
    return sqlState.startsWith('22') ? info('client_error', false) : info('unknown', false);
  }
  if (text.includes('deadlock')) return info('db_deadlock', true);
  if (text.includes('unique') || text.includes('duplicate')) return info('db_constraint', false);
  if (text.includes('timeout')) return info('db_timeout', true);
  return text.includes('connection') ? info('db_connection', true) : info('unknown', false);
}

const SCHEMA_EXCEPTIONS = new Set(['TypeError', 'ValueError', 'ValidationError', 'KeyError', 'IndexError']);

/** `types` is the exception's class followed by its bases, so that a subclass is classified like its parent. */
export function pythonError(types: readonly string[], message: string, details?: JsonObject): ErrorInfo {
  const type = types[0] ?? 'Exception';
  const info = (kind: ErrorKind, retryable: boolean, code = `PY_${type}`): ErrorInfo => ({
    kind,
    retryable,
    code,
    message,
    source: 'python',
    exception_type: type,
    ...(details === undefined ? {} : { details }),
  });
  if (types.some((name) => name.startsWith('JSON'))) return info('parse', false);
  if (types.some((name) => name === 'TimeoutError' || name.endsWith('Timeout')))
    return info('timeout', true, 'PY_TIMEOUT');
  return types.some((name) => SCHEMA_EXCEPTIONS.has(name)) ? info('schema', false) : info('unknown', false);
}

export function storageError(message: string): ErrorInfo {
  const text = message.toLowerCase();
  const info = (kind: ErrorKind, retryable: boolean, code: string): ErrorInfo => ({
    kind,
    retryable,
    code,
    message,
    source: 'storage',
  });
  if (/quota|limit/.test(text)) return info('storage_quota', false, 'STORAGE_QUOTA');
  if (/permission|access/.test(text)) return info('storage_access', false, 'STORAGE_ACCESS');
  return /timeout|timed out/.test(text)
    ? info('timeout', true, 'STORAGE_TIMEOUT')
    : info('unknown', false, 'STORAGE_ERROR');
}

/** A stored result that is not there yet, or any more: worth going back to the task that made it. */
export function missingReferenceError(message: string, previousTask?: string): ErrorInfo {
  return {
    kind: 'missing_reference',
    retryable: true,
    code: 'REFERENCE_NOT_AVAILABLE',
    message,
    source: 'reference',
    ...(previousTask === undefined ? {} : { details: { recovery: { do: 'jump', to: previousTask } } }),
  };
}

export function processTimeout(timeoutMs: number, source: string, code: string): ErrorInfo {
  return {
    kind: 'timeout',
    retryable: true,
    code,
    message: `Execution timed out after ${timeoutMs / 1000} seconds`,
    source,
  };
}
