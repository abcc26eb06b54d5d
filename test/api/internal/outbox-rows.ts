// Outbox rows written past the API, as an append would leave them.
import type { TestDatabase } from '../../support/postgres.js';
import { sql } from '../support/sql.js';

export interface StoredOutboxRow {
  outbox_id: string;
  status: string;
  attempts: number;
  last_error: string | null;
  published_at: Date | null;
  wait_seconds: number;
  lock_token: string;
}

/** Ids of the new rows, oldest first. `columns` overrides what they hold. */
export async function putRows(
  database: TestDatabase,
  count: number,
  columns: Readonly<Record<string, unknown>> = {},
): Promise<string[]> {
  const given = { execution_id: '331000000000000001', subject: 'noetl.events.test', ...columns };
  const names = Object.keys(given);
  const rows = await sql<{ outbox_id: string }>(
    database,
    `INSERT INTO noetl.outbox (event_id, payload, ${names.join(', ')})
     SELECT 331000000000000000 + n, jsonb_build_object('n', n), ${names.map((_, index) => `$${index + 2}`).join(', ')}
     FROM generate_series(1, $1::int) AS n RETURNING outbox_id`,
    [count, ...Object.values(given)],
  );
  return rows.map((row) => row.outbox_id);
}

export async function rowOf(database: TestDatabase, id: string): Promise<StoredOutboxRow> {
  const [row] = await sql<StoredOutboxRow>(
    database,
    `SELECT outbox_id, status, attempts, last_error, published_at, lock_token,
       round(extract(epoch FROM available_at - updated_at))::int AS wait_seconds FROM noetl.outbox WHERE outbox_id = $1`,
    [id],
  );
  if (row === undefined) throw new Error(`no outbox row ${id}`);
  return row;
}
