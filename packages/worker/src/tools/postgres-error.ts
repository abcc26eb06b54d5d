// What a failure of Postgres is called in the log of an execution. Whatever is said here, the password is not in it.
import type { JsonObject } from '@noetl/core';
import pg from 'pg';
import { connectionError, postgresError, ToolError } from './errors.js';
import type { PostgresSettings } from './postgres-connection.js';
import { StatementFailure } from './sql-failure.js';

export function databaseError(error: unknown, settings: PostgresSettings): ToolError {
  const failure = error instanceof StatementFailure ? error : undefined;
  const cause = innermost(failure?.cause ?? error);
  const told = cause instanceof pg.DatabaseError ? serverSays(cause, failure) : networkSays(cause, failure, settings);
  const { message: _, ...info } =
    cause instanceof pg.DatabaseError
      ? { ...postgresError(cause.code, told), details: details(cause, failure) }
      : connectionError(/timeout/i.test(messageOf(cause)) ? 'ETIMEDOUT' : systemCode(cause), told, 'postgres');
  return new ToolError(withoutPassword(told, settings.password), info);
}

function serverSays(cause: pg.DatabaseError, failure: StatementFailure | undefined): string {
  const doing = failure?.label ?? 'Connect failed';
  return [
    `Database error: ${doing}: ERROR: ${cause.message} (SQLSTATE ${cause.code ?? 'unknown'})`,
    ...(cause.detail === undefined ? [] : [`DETAIL: ${cause.detail}`]),
    ...(cause.hint === undefined ? [] : [`HINT: ${cause.hint}`]),
  ].join(' | ');
}

function networkSays(cause: unknown, failure: StatementFailure | undefined, { host, port }: PostgresSettings): string {
  const connecting = failure === undefined ? `cannot connect to ${host}:${port}: ` : '';
  return `Database error: ${connecting}${messageOf(cause)}`;
}

function details(cause: pg.DatabaseError, failure: StatementFailure | undefined): JsonObject {
  const { position, schema, table, column, constraint } = cause;
  const named = Object.entries({ position, schema, table, column, constraint });
  return {
    ...(failure === undefined ? {} : { statement: failure.statement }),
    ...Object.fromEntries(named.filter((entry): entry is [string, string] => entry[1] !== undefined)),
  };
}

/** A host with several addresses fails with one error for each. */
function innermost(error: unknown): unknown {
  return error instanceof AggregateError ? (error.errors[0] ?? error) : error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Servers do not repeat it; a proxy may. */
function withoutPassword(text: string, password: string): string {
  return password.length < 4 ? text : text.replaceAll(password, '[REDACTED]');
}
