// Runs SQL on one session and collects the results of its statements. Text without transaction control goes to the server in one piece, so
// that its statements take effect together or not at all; text that controls transactions itself goes statement by statement.
import type { Json } from '@noetl/core';
import pg from 'pg';
import { cancelQuery } from './postgres-cancel.js';
import type { Session } from './postgres-pool.js';
import { jsonTypes } from './postgres-types.js';
import { leftOpenTransaction, StatementFailure } from './sql-failure.js';
import type { RowMeter, StatementResult } from './sql-result.js';
import { controlsTransaction } from './sql-statements.js';

export interface Query {
  /** The statements that `text` consists of. */
  readonly statements: readonly string[];
  readonly text: string;
  readonly params?: readonly unknown[];
}

/** How long the server may take to end a query that it was asked to cancel. */
const CANCEL_GRACE_MS = 3_000;
const CHANGING = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'COPY']);

/** `stop` asks the server to cancel; what it had done by then shows in the outcome. */
export async function runQuery(
  session: Session,
  query: Query,
  meter: RowMeter,
  stop: AbortController,
): Promise<StatementResult[]> {
  const { statements, text, params } = query;
  const controlled = statements.some(controlsTransaction);
  const pieces = controlled ? statements : [text];
  const results: StatementResult[] = [];
  let completed = 0;
  const count = (): void => {
    completed += 1;
  };
  session.client.connection.on('commandComplete', count);
  try {
    for (const piece of pieces) results.push(...(await runPiece(session, piece, params, meter, stop)));
  } catch (error) {
    throw new StatementFailure(error, completed + 1, statements.length);
  } finally {
    session.client.connection.off('commandComplete', count);
  }
  if (controlled && session.client.getTransactionStatus() !== 'I') throw leftOpenTransaction('postgres');
  return results;
}

async function runPiece(
  session: Session,
  text: string,
  params: readonly unknown[] | undefined,
  meter: RowMeter,
  stop: AbortController,
): Promise<StatementResult[]> {
  stop.signal.throwIfAborted();
  const query = new pg.Query<Json[], unknown[]>({
    text,
    ...(params === undefined ? {} : { values: [...params] }),
    types: jsonTypes,
    rowMode: 'array',
  } as pg.QueryArrayConfig<unknown[]>);
  const rows = new Map<unknown, Json[][]>();
  query.on('row', (row, result) => {
    // Rows that are beyond the limit still arrive until the cancellation does.
    if (meter.exceeded) return;
    if (!meter.add(row)) return stop.abort();
    const of = rows.get(result) ?? [];
    of.push(row);
    rows.set(result, of);
  });
  const ended = new Promise<pg.QueryArrayResult[]>((resolve, reject) => {
    query.on('end', (result) => resolve(([] as unknown[]).concat(result) as pg.QueryArrayResult[]));
    query.on('error', reject);
  });
  const watch = cancelOn(session, stop.signal);
  try {
    session.client.query(query);
    // A piece that holds only comments has no command.
    const results = (await ended).filter(({ command }) => command);
    return results.map((result) => statementResult(result, rows.get(result) ?? []));
  } finally {
    watch.dispose();
  }
}

function statementResult({ command, rowCount, fields }: pg.QueryArrayResult, rows: Json[][]): StatementResult {
  const columns = fields.map(({ name }) => name);
  // The count of a query is that of its rows, unless it writes them elsewhere (CREATE TABLE … AS).
  const changes = rowCount !== null && (CHANGING.has(command) || columns.length === 0);
  return { columns, rows, ...(changes ? { affectedRows: rowCount } : {}) };
}

/** A cancellation that the server does not follow ends with the connection. */
function cancelOn({ client, server }: Session, signal: AbortSignal): { dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  const cancel = (): void => {
    void cancelQuery(client, server).catch(() => undefined);
    timer = setTimeout(() => void client.end().catch(() => undefined), CANCEL_GRACE_MS);
  };
  signal.addEventListener('abort', cancel, { once: true });
  return {
    dispose() {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    },
  };
}
