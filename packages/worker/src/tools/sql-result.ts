// The result of SQL, the same for every database: that of the last statement, and each statement's own under command_0, command_1, …
// Rows are counted while they arrive, so that a query without LIMIT fails instead of filling the worker's memory.
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { jsonSize } from '../json-size.js';
import type { ToolCall } from './tool.js';

export interface StatementResult {
  /** As the database names them; empty when the statement returns no rows. */
  readonly columns: readonly string[];
  readonly rows: readonly Json[][];
  /** Rows that the statement changed or wrote; absent when it is of a kind that counts none. */
  readonly affectedRows?: number;
}

export interface RowLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
}

/** The rows stand in a result twice (`rows`, `command_0.rows`), and a stored result may have 64 MiB. */
export const ROW_LIMITS: RowLimits = { maxRows: 100_000, maxBytes: 30 * 1024 * 1024 };
const MAX_NUMBERED_STATEMENTS = 100;

export interface RowMeter {
  /** False when there are more rows than a result may hold. */
  add(row: readonly Json[]): boolean;
  readonly exceeded: boolean;
}

/** Counts the rows of all statements of one call. */
export function rowMeter({ maxRows, maxBytes }: RowLimits): RowMeter {
  let rows = 0;
  let bytes = 0;
  const exceeded = (): boolean => rows > maxRows || bytes > maxBytes;
  return {
    add(row) {
      rows += 1;
      bytes += jsonSize(row);
      return !exceeded();
    },
    get exceeded() {
      return exceeded();
    },
  };
}

export interface ResultShape {
  /** Rows as objects by column name; otherwise as lists. */
  readonly asObjects: boolean;
  /** Repeat each statement's result under its number. */
  readonly numbered: boolean;
}

export function resultData(statements: readonly StatementResult[], { asObjects, numbered }: ResultShape): JsonObject {
  const shown = statements.map((statement) => shownStatement(statement, asObjects));
  const last = shown.at(-1) ?? shownStatement({ columns: [], rows: [] }, asObjects);
  const copies = numbered && shown.length <= MAX_NUMBERED_STATEMENTS ? shown : [];
  return {
    ...last,
    statement_count: statements.length,
    ...Object.fromEntries(copies.map((statement, index) => [`command_${index}`, statement])),
  };
}

/** The engine reads the rows of a claim from the log: there, once is enough. */
export function isClaim({ meta }: ToolCall): boolean {
  const { cursor } = meta;
  return isObject(cursor) && cursor['phase'] === 'claim';
}

function shownStatement({ columns, rows, affectedRows }: StatementResult, asObjects: boolean): JsonObject {
  const names = distinct(columns);
  return {
    status: 'success',
    ...(columns.length > 0 ? {} : { message: 'ok' }),
    columns: names,
    rows: asObjects ? rows.map((row) => objectOf(names, row)) : rows.map((row) => [...row]),
    // -1 is what database drivers say about a statement without a count; playbooks compare with it.
    row_count: columns.length > 0 ? rows.length : (affectedRows ?? -1),
    affected_rows: affectedRows ?? 0,
  };
}

function objectOf(names: readonly string[], row: readonly Json[]): JsonObject {
  return Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]));
}

/** A join may return two columns of one name; the second becomes `name_2`, so that neither hides the other. */
function distinct(columns: readonly string[]): string[] {
  const taken = new Set(columns);
  const seen = new Set<string>();
  return columns.map((column) => {
    if (!seen.has(column)) {
      seen.add(column);
      return column;
    }
    let number = 2;
    while (taken.has(`${column}_${number}`)) number += 1;
    const name = `${column}_${number}`;
    taken.add(name);
    return name;
  });
}
