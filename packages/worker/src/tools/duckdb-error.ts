// What a failure of DuckDB is called in the log of an execution. Its messages begin with their class:
// `Catalog Error: Table with name x does not exist!`
import { type ErrorKind, ToolError } from './errors.js';
import { StatementFailure } from './sql-failure.js';

const KINDS: Readonly<Record<string, ErrorKind>> = {
  Parser: 'schema',
  Syntax: 'schema',
  Binder: 'schema',
  Catalog: 'schema',
  Conversion: 'client_error',
  'Out of Range': 'client_error',
  'Invalid Input': 'client_error',
  TransactionContext: 'client_error',
  Constraint: 'db_constraint',
  Permission: 'auth',
  'Out of Memory': 'storage_quota',
  IO: 'storage_access',
};

export function databaseError(error: unknown): ToolError {
  const failure = error instanceof StatementFailure ? error : undefined;
  const cause = failure?.cause ?? error;
  const text = (cause instanceof Error ? cause.message : String(cause)).replace(/^Failed to extract statements: /, '');
  const label = /^([A-Za-z ]+?) Error:/.exec(text)?.[1] ?? 'unknown';
  // Two steps changed the same rows of one database: the one that was refused may try again.
  const conflict = label === 'TransactionContext' && /conflict/i.test(text);
  return new ToolError(
    `Database error: ${failure?.label ?? 'Query failed'}: ${text}`,
    {
      kind: conflict ? 'db_deadlock' : (KINDS[label] ?? 'unknown'),
      retryable: conflict,
      code: `DUCKDB_${label.toUpperCase().replaceAll(' ', '_')}`,
      source: 'duckdb',
      ...(failure === undefined ? {} : { details: { statement: failure.statement } }),
    },
    { cause: error },
  );
}
