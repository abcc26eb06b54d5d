// Failures that every SQL tool knows: of a statement among others, of a result without end, of a transaction without end.
import { ToolError } from './errors.js';
import type { RowLimits } from './sql-result.js';

/** What the database says (`cause`), and about which of the statements. */
export class StatementFailure extends Error {
  /** Counted from 1. */
  readonly statement: number;
  readonly count: number;

  constructor(cause: unknown, statement: number, count: number) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'StatementFailure';
    this.statement = statement;
    this.count = count;
  }

  /** As a message begins. */
  get label(): string {
    return this.count > 1 ? `Batch execute failed in statement ${this.statement}` : 'Query failed';
  }
}

/** `applied`: all statements had ended when it was noticed. */
export function tooManyRows(kind: string, { maxRows, maxBytes }: RowLimits, applied = false): ToolError {
  const effect = applied ? ' The statements have taken effect.' : '';
  return new ToolError(
    `Database error: the result is larger than ${maxRows} rows or ${maxBytes} bytes; use LIMIT, or keep the rows in the database.${effect}`,
    { kind: 'client_error', retryable: false, code: 'RESULT_TOO_LARGE', source: kind },
  );
}

export function leftOpenTransaction(kind: string): ToolError {
  return new ToolError('Database error: the statements leave a transaction open, which was rolled back; add COMMIT', {
    kind: 'client_error',
    retryable: false,
    code: 'TRANSACTION_LEFT_OPEN',
    source: kind,
  });
}
