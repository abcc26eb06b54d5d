// SQL of operations and their items.
import { type Id, type JsonObject, stringifyJson } from '@noetl/core';
import type pg from 'pg';

export interface OperationRow {
  readonly operation_id: Id;
  readonly action: 'cancel' | 'rerun';
  readonly request: JsonObject;
  readonly status: 'RUNNING' | 'COMPLETED' | 'CANCELLED';
  readonly total: number;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly created_at: string;
  readonly ended_at: string | null;
}

export interface NewOperation {
  readonly id: Id;
  readonly action: string;
  readonly request: JsonObject;
  readonly items: readonly { readonly execution: Id; readonly target: Id | null }[];
}

export async function insertOperation(pool: pg.Pool, { id, action, request, items }: NewOperation): Promise<void> {
  await pool.query(
    `WITH operation AS (
       INSERT INTO noetl.operation (operation_id, action, request, total, status, ended_at)
       VALUES ($1, $2, $3::jsonb, $6::int, CASE WHEN $6::int = 0 THEN 'COMPLETED' ELSE 'RUNNING' END,
         CASE WHEN $6::int = 0 THEN now() END)
       RETURNING operation_id)
     INSERT INTO noetl.operation_item (operation_id, execution_id, target_id)
     SELECT operation_id, execution_id, target_id
     FROM operation, unnest($4::bigint[], $5::bigint[]) AS item(execution_id, target_id)`,
    [
      id,
      action,
      stringifyJson(request),
      items.map((item) => item.execution),
      items.map((item) => item.target),
      items.length,
    ],
  );
}

const OPERATION = `o.operation_id, o.action, o.request, o.status, o.total, o.created_at, o.ended_at,
  count(*) FILTER (WHERE i.status = 'DONE')::int AS done, count(*) FILTER (WHERE i.status = 'SKIPPED')::int AS skipped,
  count(*) FILTER (WHERE i.status = 'FAILED')::int AS failed
  FROM noetl.operation o LEFT JOIN noetl.operation_item i USING (operation_id)`;

export async function operationById(pool: pg.Pool, id: Id): Promise<OperationRow | undefined> {
  const result = await pool.query<OperationRow>(
    `SELECT ${OPERATION} WHERE o.operation_id = $1 GROUP BY o.operation_id`,
    [id],
  );
  return result.rows[0];
}

export async function listOperations(pool: pg.Pool, limit: number): Promise<OperationRow[]> {
  const result = await pool.query<OperationRow>(
    `SELECT ${OPERATION}
     WHERE o.operation_id IN (SELECT operation_id FROM noetl.operation ORDER BY operation_id DESC LIMIT $1)
     GROUP BY o.operation_id ORDER BY o.operation_id DESC`,
    [limit],
  );
  return result.rows;
}

export interface ItemRow {
  readonly execution_id: Id;
  readonly target_id: Id | null;
  readonly status: 'PENDING' | 'DONE' | 'SKIPPED' | 'FAILED';
  readonly error: string | null;
}

export async function operationItems(
  pool: pg.Pool,
  id: Id,
  query: { status: string | null; after: Id; limit: number },
): Promise<ItemRow[]> {
  const result = await pool.query<ItemRow>(
    `SELECT execution_id, target_id, status, error FROM noetl.operation_item
     WHERE operation_id = $1 AND ($2::text IS NULL OR status = $2) AND execution_id > $3 ORDER BY execution_id LIMIT $4`,
    [id, query.status, query.after, query.limit],
  );
  return result.rows;
}

/** What is not done yet is left alone from now on. */
export async function cancelOperation(pool: pg.Pool, id: Id): Promise<void> {
  await pool.query(
    `UPDATE noetl.operation SET status = 'CANCELLED', ended_at = now() WHERE operation_id = $1 AND status = 'RUNNING'`,
    [id],
  );
}

export interface OpenItem {
  readonly operation_id: Id;
  readonly execution_id: Id;
  readonly target_id: Id | null;
  readonly action: 'cancel' | 'rerun';
  readonly request: JsonObject;
}

/** Whoever takes an item has this long to do it; then somebody else may. */
const HOLD_SECONDS = 60;

export async function takeItems(pool: pg.Pool, limit: number): Promise<OpenItem[]> {
  const result = await pool.query<OpenItem>({
    name: 'take-operation-items',
    text: `WITH taken AS (
             SELECT i.operation_id, i.execution_id, o.action, o.request
             FROM noetl.operation o JOIN noetl.operation_item i USING (operation_id)
             WHERE o.status = 'RUNNING' AND i.status = 'PENDING' AND (i.lease_until IS NULL OR i.lease_until < now())
             ORDER BY i.operation_id, i.execution_id LIMIT $1 FOR UPDATE OF i SKIP LOCKED)
           UPDATE noetl.operation_item i SET lease_until = now() + $2 * interval '1 s' FROM taken t
           WHERE i.operation_id = t.operation_id AND i.execution_id = t.execution_id
           RETURNING i.operation_id, i.execution_id, i.target_id, t.action, t.request`,
    values: [limit, HOLD_SECONDS],
  });
  return result.rows;
}

export interface ItemOutcome {
  readonly operation: Id;
  readonly execution: Id;
  readonly status: 'DONE' | 'SKIPPED' | 'FAILED';
  readonly error: string | null;
}

export async function finishItems(pool: pg.Pool, outcomes: readonly ItemOutcome[]): Promise<void> {
  await pool.query(
    `UPDATE noetl.operation_item i SET status = r.status, error = left(r.error, 2000), lease_until = NULL
     FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS r(operation_id, execution_id, status, error)
     WHERE i.operation_id = r.operation_id AND i.execution_id = r.execution_id`,
    [
      outcomes.map((outcome) => outcome.operation),
      outcomes.map((outcome) => outcome.execution),
      outcomes.map((outcome) => outcome.status),
      outcomes.map((outcome) => outcome.error),
    ],
  );
  await pool.query(
    `UPDATE noetl.operation o SET status = 'COMPLETED', ended_at = now()
     WHERE o.status = 'RUNNING' AND o.operation_id = ANY ($1::bigint[])
       AND NOT EXISTS (SELECT 1 FROM noetl.operation_item i WHERE i.operation_id = o.operation_id AND i.status = 'PENDING')`,
    [[...new Set(outcomes.map((outcome) => outcome.operation))]],
  );
}
