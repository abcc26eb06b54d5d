// Runs SQL in DuckDB, inside the worker. The steps of an execution share one database file (on one machine), so a table that one of them
// makes is there for the next. The engine is loaded by the first step that needs it.
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import type * as DuckDb from '@duckdb/node-api';
import type { Json, JsonObject } from '@noetl/core';
import { booleanOf, optionalText } from './config.js';
import { databaseError } from './duckdb-error.js';
import { createDuckdbFiles, type DatabaseName, type DuckdbFiles, type DuckdbSettings } from './duckdb-files.js';
import { jsonOf, parameterOf } from './duckdb-values.js';
import { configurationError, processTimeout, ToolError } from './errors.js';
import { isPositional, paramsOf, SQL_TIMEOUT_MS, type SqlParams, sqlOf } from './sql-config.js';
import { leftOpenTransaction, StatementFailure, tooManyRows } from './sql-failure.js';
import { documentOf } from './sql-json.js';
import {
  isClaim,
  ROW_LIMITS,
  type RowLimits,
  type RowMeter,
  resultData,
  rowMeter,
  type StatementResult,
} from './sql-result.js';
import { splitStatements } from './sql-statements.js';
import { type Tool, type ToolCall, type ToolResult, timedOut } from './tool.js';

export interface DuckdbOptions extends Partial<DuckdbSettings> {
  readonly limits?: RowLimits;
}

const KIND = 'duckdb';
const KEEP_MS = 24 * 3_600_000;
/** An interrupt that arrives before the query has begun is lost, so it is repeated. */
const INTERRUPT_EVERY_MS = 50;

export function createDuckdbTool(options: DuckdbOptions = {}): Tool {
  const limits = options.limits ?? ROW_LIMITS;
  let api: Promise<typeof DuckDb> | undefined;
  const load = (): Promise<typeof DuckDb> => (api ??= loadDuckdb());
  const files = createDuckdbFiles(load, {
    dataDir: options.dataDir ?? dataDirOf(process.env),
    externalAccess: options.externalAccess ?? isOn(process.env['NOETL_DUCKDB_EXTERNAL_ACCESS']),
    keepMs: options.keepMs ?? KEEP_MS,
  });
  return {
    kind: KIND,
    run: async (call) => runDuckdb(call, await load(), files, limits),
    close: () => files.close(),
  };
}

async function loadDuckdb(): Promise<typeof DuckDb> {
  try {
    return await import('@duckdb/node-api');
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new ToolError(
      `Database error: DuckDB cannot be loaded on this worker (${process.platform}-${process.arch}): ${detail}`,
      { kind: 'configuration', retryable: false, code: 'DUCKDB_UNAVAILABLE', source: KIND },
      { cause: error },
    );
  }
}

function dataDirOf(env: NodeJS.ProcessEnv): string {
  const dataDir = env['NOETL_DATA_DIR'] || path.join(tmpdir(), `noetl-${userInfo().uid}`);
  return path.join(dataDir, 'duckdb');
}

function isOn(value: string | undefined): boolean {
  return ['true', '1', 'yes', 'on'].includes(value?.trim().toLowerCase() ?? '');
}

async function runDuckdb(
  call: ToolCall,
  api: typeof DuckDb,
  files: DuckdbFiles,
  limits: RowLimits,
): Promise<ToolResult> {
  const { config } = call;
  const sql = sqlOf(KIND, config);
  if (splitStatements(sql).length === 0) throw configurationError(KIND, 'command holds no SQL statement');
  const params = paramsOf(KIND, config);
  const asObjects = booleanOf(KIND, config, true, 'as_objects');
  const timeoutMs = call.timeoutMs ?? SQL_TIMEOUT_MS;
  const startedAt = performance.now();
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([call.signal, deadline]);
  const meter = rowMeter(limits);
  try {
    const database = await files.connect(databaseOf(config, call.executionId), signal);
    const interrupts = interruptOn(signal, database.connection);
    try {
      const statements = await runStatements(api, database.connection, { sql, params, meter, signal, limits });
      const data = resultData(statements, { asObjects, numbered: !isClaim(call) });
      return { status: 'success', data, duration_ms: Math.round(performance.now() - startedAt) };
    } finally {
      interrupts.dispose();
      database.close();
    }
  } catch (error) {
    // The runtime knows why it aborted; the result of an aborted call is not looked at.
    if (call.signal.aborted) throw call.signal.reason;
    if (deadline.aborted) return timedOut(timeoutMs, processTimeout(timeoutMs, KIND, 'DUCKDB_TIMEOUT'));
    throw error instanceof ToolError ? error : databaseError(error);
  }
}

function databaseOf(config: JsonObject, executionId: string): DatabaseName {
  const name = optionalText(KIND, config, 'database', 'db_path')?.trim();
  if (name === undefined || name === '') return { type: 'execution', executionId };
  return name === ':memory:' ? { type: 'memory' } : { type: 'path', path: name };
}

interface Work {
  readonly sql: string;
  readonly params: SqlParams | undefined;
  readonly meter: RowMeter;
  readonly signal: AbortSignal;
  readonly limits: RowLimits;
}

async function runStatements(
  api: typeof DuckDb,
  connection: DuckDb.DuckDBConnection,
  work: Work,
): Promise<StatementResult[]> {
  const { sql, params, signal } = work;
  // All of them are parsed before the first one runs.
  const extracted = await connection.extractStatements(sql);
  if (params !== undefined && extracted.count > 1) {
    throw configurationError(KIND, `params go with one statement, and command holds ${extracted.count}`);
  }
  const results: StatementResult[] = [];
  for (let index = 0; index < extracted.count; index += 1) {
    signal.throwIfAborted();
    try {
      results.push(await runStatement(api, extracted, index, work));
    } catch (error) {
      throw error instanceof ToolError ? error : new StatementFailure(error, index + 1, extracted.count);
    }
  }
  if (await endsTransaction(connection)) throw leftOpenTransaction(KIND);
  return results;
}

/** Prepared only now: a statement may need the table that the one before it created. */
async function runStatement(
  api: typeof DuckDb,
  extracted: DuckDb.DuckDBExtractedStatements,
  index: number,
  work: Work,
): Promise<StatementResult> {
  const prepared = await extracted.prepare(index);
  try {
    if (work.params !== undefined) bind(api, prepared, work.params);
    return await readResult(api, await prepared.stream(), work);
  } finally {
    prepared.destroySync();
  }
}

function bind(api: typeof DuckDb, prepared: DuckDb.DuckDBPreparedStatement, params: SqlParams): void {
  const value = (param: Json): DuckDb.DuckDBValue => parameterOf(api, param);
  if (isPositional(params)) return prepared.bind(params.map(value));
  prepared.bind(Object.fromEntries(Object.entries(params).map(([name, param]) => [name, value(param)])));
}

async function readResult(
  api: typeof DuckDb,
  result: DuckDb.DuckDBResult,
  { meter, signal, limits }: Work,
): Promise<StatementResult> {
  if (result.returnType === api.ResultReturnType.CHANGED_ROWS) {
    return { columns: [], rows: [], affectedRows: result.rowsChanged };
  }
  if (result.returnType !== api.ResultReturnType.QUERY_RESULT) return { columns: [], rows: [] };
  const isJson = result.columnTypes().map(({ alias }) => alias === 'JSON');
  const rows: Json[][] = [];
  for (;;) {
    signal.throwIfAborted();
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) break;
    for (const values of chunk.getRows()) {
      const row = values.map((value, index) =>
        isJson[index] && typeof value === 'string' ? documentOf(value) : jsonOf(api, value),
      );
      if (!meter.add(row)) throw tooManyRows(KIND, limits);
      rows.push(row);
    }
  }
  return { columns: result.columnNames(), rows };
}

/** True when a transaction was open, which is over now. */
async function endsTransaction(connection: DuckDb.DuckDBConnection): Promise<boolean> {
  try {
    await connection.run('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

function interruptOn(signal: AbortSignal, connection: DuckDb.DuckDBConnection): { dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    connection.interrupt();
    timer = setTimeout(interrupt, INTERRUPT_EVERY_MS);
  };
  if (signal.aborted) interrupt();
  else signal.addEventListener('abort', interrupt, { once: true });
  return {
    dispose() {
      clearTimeout(timer);
      signal.removeEventListener('abort', interrupt);
    },
  };
}
