// Runs SQL on a PostgreSQL database. Time-out, cancellation and a result that grows too large all ask the server to cancel, so nothing goes
// on running there unseen; a session whose state is in doubt is closed instead of being used again.
import type { Json, JsonObject } from '@noetl/core';
import pg from 'pg';
import { booleanOf, optionalText } from './config.js';
import { configurationError, processTimeout, ToolError } from './errors.js';
import { connectionOf } from './postgres-connection.js';
import { databaseError } from './postgres-error.js';
import { createPostgresPools, type PostgresPools, type Session, type SessionEnding } from './postgres-pool.js';
import { type Query, runQuery } from './postgres-query.js';
import { parameterOf } from './postgres-types.js';
import { isPositional, paramsOf, SQL_TIMEOUT_MS, sqlOf } from './sql-config.js';
import { tooManyRows } from './sql-failure.js';
import { isClaim, ROW_LIMITS, type RowLimits, resultData, rowMeter } from './sql-result.js';
import { splitStatements } from './sql-statements.js';
import { type Tool, type ToolCall, type ToolResult, timedOut } from './tool.js';

export interface PostgresOptions {
  /** How long a connection is kept without work. */
  readonly idleMs?: number;
  readonly limits?: RowLimits;
}

const KIND = 'postgres';
const MAX_CONNECTIONS = 10;
/** The server ends a statement by itself, this much later, when the worker is not there any more to cancel it. */
const SERVER_GRACE_MS = 5_000;

export function createPostgresTool(options: PostgresOptions = {}): Tool {
  const pools = createPostgresPools(options);
  const limits = options.limits ?? ROW_LIMITS;
  return {
    kind: KIND,
    run: (call) => runPostgres(call, pools, limits),
    close: () => pools.close(),
  };
}

async function runPostgres(call: ToolCall, pools: PostgresPools, limits: RowLimits): Promise<ToolResult> {
  const { config } = call;
  const settings = connectionOf(config);
  const query = queryOf(config);
  const asObjects = booleanOf(KIND, config, true, 'as_objects');
  const timeoutMs = call.timeoutMs ?? SQL_TIMEOUT_MS;
  const prelude = sessionSettings(optionalText(KIND, config, 'schema', 'db_schema'), timeoutMs);
  const max = maxConnections(config['pool']);
  const startedAt = performance.now();
  const deadline = AbortSignal.timeout(timeoutMs);
  const stop = stopper(call.signal, deadline);
  const meter = rowMeter(limits);
  let session: Session | undefined;
  let ending: SessionEnding = 'unknown';
  try {
    session = await pools.acquire({ settings, max, signal: stop.signal, prepare: (client) => client.query(prelude) });
    const statements = await runQuery(session, query, meter, stop);
    if (!stop.signal.aborted) ending = 'done';
    // Done before the cancellation arrived: only the result cannot be kept.
    if (meter.exceeded) throw tooManyRows(KIND, limits, true);
    const data = resultData(statements, { asObjects, numbered: !isClaim(call) });
    return { status: 'success', data, duration_ms: Math.round(performance.now() - startedAt) };
  } catch (error) {
    if (!stop.signal.aborted) ending = 'failed';
    // The runtime knows why it aborted; the result of an aborted call is not looked at.
    if (call.signal.aborted) throw call.signal.reason;
    if (deadline.aborted) return timedOut(timeoutMs, processTimeout(timeoutMs, KIND, 'PG_TIMEOUT'));
    if (error instanceof ToolError) throw error;
    if (meter.exceeded) throw tooManyRows(KIND, limits);
    throw databaseError(error, settings);
  } finally {
    session?.release(ending);
  }
}

function queryOf(config: JsonObject): Query {
  const text = sqlOf(KIND, config);
  const statements = splitStatements(text);
  if (statements.length === 0) throw configurationError(KIND, 'command holds no SQL statement');
  const params = paramsOf(KIND, config);
  if (params === undefined) return { statements, text };
  if (!isPositional(params)) throw configurationError(KIND, 'params must be a list: the values of $1, $2, …');
  const [only = ''] = statements;
  if (statements.length > 1) {
    throw configurationError(KIND, `params go with one statement, and command holds ${statements.length}`);
  }
  return { statements, text: only, params: params.map(parameterOf) };
}

/** Also shows whether a connection that was kept is still alive. Dates must be readable, whatever the server's defaults are. */
function sessionSettings(schema: string | undefined, timeoutMs: number): string {
  const settings = [
    "SET TimeZone TO 'UTC'",
    "SET DateStyle TO 'ISO'",
    `SET statement_timeout TO ${Math.min(timeoutMs + SERVER_GRACE_MS, 2_147_483_647)}`,
  ];
  if (schema !== undefined) {
    const names = schema.split(',').map((name) => pg.escapeIdentifier(name.trim()));
    settings.push(`SET search_path TO ${names.join(', ')}`);
  }
  return settings.join('; ');
}

function maxConnections(pool: Json | undefined): number {
  if (pool === undefined || pool === null) return MAX_CONNECTIONS;
  const size = typeof pool === 'object' && !Array.isArray(pool) ? (pool['max_size'] ?? MAX_CONNECTIONS) : pool;
  const max = Number(size);
  if (Number.isInteger(max) && max > 0) return Math.min(max, 100);
  throw configurationError(KIND, 'pool.max_size must be a number above 0');
}

/** Fires with either signal, and can be fired by hand. */
function stopper(...signals: AbortSignal[]): AbortController {
  const stop = new AbortController();
  const any = AbortSignal.any(signals);
  if (any.aborted) stop.abort(any.reason);
  any.addEventListener('abort', () => stop.abort(any.reason), { once: true });
  return stop;
}
