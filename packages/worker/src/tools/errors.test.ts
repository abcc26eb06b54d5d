import { describe, expect, it } from 'vitest';
import {
  connectionError,
  httpError,
  missingReferenceError,
  postgresError,
  pythonError,
  raisedError,
  storageError,
  ToolError,
} from './errors.js';

describe('classification of errors', () => {
  it.each([
    [429, 'rate_limit', true],
    [401, 'auth', false],
    [403, 'auth', false],
    [404, 'not_found', false],
    [400, 'client_error', false],
    [302, 'client_error', false],
    [500, 'server_error', true],
    [503, 'server_error', true],
  ])('HTTP %i is %s', (status, kind, retryable) => {
    expect(httpError(status, 'm')).toMatchObject({ kind, retryable, code: `HTTP_${status}`, http_status: status });
  });

  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', 'CONN_TIMEOUT'],
    ['ECONNREFUSED', 'connection', 'CONN_REFUSED'],
    ['ENOTFOUND', 'connection', 'DNS_ERROR'],
    ['ECONNRESET', 'connection', 'CONN_ERROR'],
    [undefined, 'connection', 'CONN_ERROR'],
  ])('connection error %s is %s', (system, kind, code) => {
    expect(connectionError(system, 'm', 'http')).toMatchObject({ kind, code, retryable: true });
  });

  it.each([
    ['40001', 'x', 'db_deadlock', true, 'PG_40001'],
    ['23505', 'x', 'db_constraint', false, 'PG_23505'],
    ['08006', 'x', 'db_connection', true, 'PG_08006'],
    ['57014', 'x', 'db_timeout', true, 'PG_57014'],
    ['57P01', 'x', 'db_connection', true, 'PG_57P01'],
    ['55P03', 'x', 'db_timeout', true, 'PG_55P03'],
    ['28P01', 'x', 'auth', false, 'PG_28P01'],
    ['42501', 'x', 'auth', false, 'PG_42501'],
    ['22P02', 'x', 'client_error', false, 'PG_22P02'],
    ['42601', 'timeout is a word in this syntax error', 'schema', false, 'PG_42601'],
    ['0A000', 'timeout is a word in this message', 'unknown', false, 'PG_0A000'],
    [undefined, 'deadlock detected', 'db_deadlock', true, 'PG_UNKNOWN'],
    [undefined, 'duplicate key', 'db_constraint', false, 'PG_UNKNOWN'],
    [undefined, 'connection timeout', 'db_timeout', true, 'PG_UNKNOWN'],
    [undefined, 'Connection terminated', 'db_connection', true, 'PG_UNKNOWN'],
    [undefined, 'odd', 'unknown', false, 'PG_UNKNOWN'],
  ])('SQLSTATE %s "%s" is %s', (state, message, kind, retryable, code) => {
    expect(postgresError(state, message)).toMatchObject({ kind, retryable, code });
  });

  it.each([
    [['JSONDecodeError', 'ValueError'], 'parse', 'PY_JSONDecodeError'],
    [['KeyError', 'LookupError'], 'schema', 'PY_KeyError'],
    [['MyError', 'ValueError'], 'schema', 'PY_MyError'],
    [['TimeoutError', 'OSError'], 'timeout', 'PY_TIMEOUT'],
    [['ReadTimeout', 'OSError'], 'timeout', 'PY_TIMEOUT'],
    [['RuntimeError'], 'unknown', 'PY_RuntimeError'],
  ])('python %j is %s', (types, kind, code) => {
    expect(pythonError(types, 'm')).toMatchObject({ kind, code, retryable: kind === 'timeout' });
  });

  it.each([
    ['quota exceeded', 'storage_quota', false],
    ['permission denied', 'storage_access', false],
    ['request timed out', 'timeout', true],
    ['odd', 'unknown', false],
  ])('storage "%s" is %s', (message, kind, retryable) => {
    expect(storageError(message)).toMatchObject({ kind, retryable });
  });

  it('a missing reference can be recovered by the task that made it', () => {
    expect(missingReferenceError('gone', 'fetch').details).toEqual({ recovery: { do: 'jump', to: 'fetch' } });
  });

  it('an unforeseen exception keeps its text and type', () => {
    expect(raisedError(new RangeError('odd'), 'shell')).toMatchObject({
      error: 'Execution failed: odd',
      error_info: { kind: 'unknown', exception_type: 'RangeError', source: 'shell' },
    });
  });

  it('a tool error speaks for itself', () => {
    const error = new ToolError('Database error: x', { kind: 'db_timeout', retryable: true, code: 'C', source: 's' });
    expect(raisedError(error, 'other')).toMatchObject({
      error: 'Database error: x',
      error_info: { code: 'C', source: 's' },
    });
  });
});
