// SQL of `noetl.result_store`: large results, beside the executions that made them. A result never changes; one whose time is over is gone
// for every reader at that moment, whether or not it has been deleted already.
import type { Id } from '@noetl/core';
import type pg from 'pg';

export interface ResultRow {
  readonly result_id: Id;
  readonly execution_id: Id;
  readonly name: string;
  readonly scope: string;
  readonly source_step: string | null;
  readonly bytes: string;
  readonly sha256: string;
  readonly created_at: string;
  readonly expires_at: string | null;
}

const COLUMNS = 'result_id, execution_id, name, scope, source_step, bytes, sha256, created_at, expires_at';
const ALIVE = '(expires_at IS NULL OR expires_at > now())';

export interface NewResult {
  readonly result_id: Id;
  readonly execution_id: Id;
  readonly name: string;
  readonly scope: string;
  readonly source_step: string | null;
  /** JSON text, kept as it is. */
  readonly data: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Null: for ever. */
  readonly ttlSeconds: number | null;
}

/** The same content under the same name again is the result that is there, and lives as long as the longer of the two. */
export async function insertResult(pool: pg.Pool, result: NewResult): Promise<ResultRow> {
  const inserted = await pool.query<ResultRow>(
    `INSERT INTO noetl.result_store AS kept (result_id, execution_id, name, scope, source_step, data, bytes, sha256, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6::json, $7, $8, now() + $9::double precision * interval '1 s')
     ON CONFLICT (execution_id, name, scope, sha256) DO UPDATE SET
       expires_at = CASE WHEN kept.expires_at IS NULL OR EXCLUDED.expires_at IS NULL THEN NULL
                         ELSE greatest(kept.expires_at, EXCLUDED.expires_at) END
     RETURNING ${COLUMNS}`,
    [
      result.result_id,
      result.execution_id,
      result.name,
      result.scope,
      result.source_step,
      result.data,
      result.bytes,
      result.sha256,
      result.ttlSeconds,
    ],
  );
  const [row] = inserted.rows;
  if (row === undefined) throw new Error(`result ${result.name} of execution ${result.execution_id} was not stored`);
  return row;
}

export interface StoredText {
  /** JSON. */
  readonly text: string;
  readonly expires_at: string | null;
}

export async function readResult(pool: pg.Pool, executionId: Id, resultId: Id): Promise<StoredText | undefined> {
  const found = await pool.query<StoredText>(
    `SELECT data::text AS text, expires_at FROM noetl.result_store WHERE result_id = $2 AND execution_id = $1 AND ${ALIVE}`,
    [executionId, resultId],
  );
  return found.rows[0];
}

/** The newest result that a step made, or that carries its name. */
export async function newestOfStep(pool: pg.Pool, executionId: Id, step: string): Promise<ResultRow | undefined> {
  const found = await pool.query<ResultRow>(
    `SELECT ${COLUMNS} FROM noetl.result_store
     WHERE execution_id = $1 AND (name = $2 OR source_step = $2) AND ${ALIVE} ORDER BY result_id DESC LIMIT 1`,
    [executionId, step],
  );
  return found.rows[0];
}

export async function listResults(
  pool: pg.Pool,
  executionId: Id,
  filter: { scope: string | null; step: string | null },
  limit: number,
): Promise<ResultRow[]> {
  const found = await pool.query<ResultRow>(
    `SELECT ${COLUMNS} FROM noetl.result_store
     WHERE execution_id = $1 AND ($2::text IS NULL OR scope = $2) AND ($3::text IS NULL OR name = $3 OR source_step = $3) AND ${ALIVE}
     ORDER BY result_id LIMIT $4`,
    [executionId, filter.scope, filter.step, limit],
  );
  return found.rows;
}

export async function deleteScopes(
  pool: pg.Pool,
  executionId: Id,
  scopes: readonly string[],
  step: string | null,
): Promise<number> {
  const deleted = await pool.query(
    `DELETE FROM noetl.result_store
     WHERE execution_id = $1 AND scope = ANY ($2) AND ($3::text IS NULL OR name = $3 OR source_step = $3)`,
    [executionId, scopes, step],
  );
  return deleted.rowCount ?? 0;
}

export interface ScopeStats {
  readonly scope: string;
  readonly results: string;
  readonly bytes: string;
}

export async function statsByScope(pool: pg.Pool): Promise<ScopeStats[]> {
  const found = await pool.query<ScopeStats>(
    `SELECT scope, count(*) AS results, coalesce(sum(bytes), 0)::bigint AS bytes FROM noetl.result_store WHERE ${ALIVE} GROUP BY scope`,
  );
  return found.rows;
}

/** At most `limit` of those whose time is over. Several servers may do this at once without waiting for each other. */
export async function deleteExpired(pool: pg.Pool, limit: number): Promise<number> {
  const deleted = await pool.query(
    `DELETE FROM noetl.result_store WHERE result_id IN (
       SELECT result_id FROM noetl.result_store WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
  return deleted.rowCount ?? 0;
}
