// SQL that reads executions. Writing them is the log's business.
import type { Id } from '@noetl/core';
import type pg from 'pg';

export interface ExecutionRow {
  readonly execution_id: Id;
  readonly catalog_id: Id;
  readonly path: string;
  readonly parent_execution_id: Id | null;
  readonly status: 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
  readonly head_version: number;
  readonly last_event_id: Id | null;
  readonly last_node_name: string | null;
  readonly error: string | null;
  readonly start_time: string;
  readonly end_time: string | null;
  readonly updated_at: string;
}

const COLUMNS = `execution_id, catalog_id, path, parent_execution_id, status, head_version::float8 AS head_version, last_event_id,
  last_node_name, error, start_time, end_time, updated_at`;

export async function executionById(pool: pg.Pool, id: Id): Promise<ExecutionRow | undefined> {
  const result = await pool.query<ExecutionRow>({
    name: 'execution-by-id',
    text: `SELECT ${COLUMNS} FROM noetl.execution WHERE execution_id = $1`,
    values: [id],
  });
  return result.rows[0];
}

export interface ExecutionFilter {
  readonly catalogId: Id | null;
  readonly path: string | null;
  readonly status: string | null;
  readonly parentId: Id | null;
}

export async function listExecutions(pool: pg.Pool, filter: ExecutionFilter, limit: number): Promise<ExecutionRow[]> {
  const result = await pool.query<ExecutionRow>(
    `SELECT ${COLUMNS} FROM noetl.execution
     WHERE ($1::bigint IS NULL OR catalog_id = $1) AND ($2::text IS NULL OR position(lower($2) in lower(path)) > 0)
       AND ($3::text IS NULL OR status = $3) AND ($4::bigint IS NULL OR parent_execution_id = $4)
     ORDER BY start_time DESC, execution_id DESC LIMIT $5`,
    [filter.catalogId, filter.path, filter.status, filter.parentId, limit],
  );
  return result.rows;
}

export interface BulkFilter {
  readonly ids: readonly Id[] | null;
  /** Exact, or everything below a prefix that ends with `*`. */
  readonly path: string | null;
  readonly catalogId: Id | null;
  readonly parentId: Id | null;
  readonly statuses: readonly string[];
  readonly startedAfter: string | null;
  readonly startedBefore: string | null;
}

export async function matchingExecutions(pool: pg.Pool, filter: BulkFilter, limit: number): Promise<Id[]> {
  const prefix = filter.path?.endsWith('*') ? filter.path.slice(0, -1) : null;
  const result = await pool.query<{ execution_id: Id }>(
    `SELECT execution_id FROM noetl.execution
     WHERE status = ANY ($1::text[]) AND ($2::bigint[] IS NULL OR execution_id = ANY ($2))
       AND ($3::text IS NULL OR path = $3) AND ($4::text IS NULL OR starts_with(path, $4))
       AND ($5::bigint IS NULL OR catalog_id = $5) AND ($6::bigint IS NULL OR parent_execution_id = $6)
       AND ($7::timestamptz IS NULL OR start_time >= $7) AND ($8::timestamptz IS NULL OR start_time < $8)
     ORDER BY execution_id LIMIT $9`,
    [
      filter.statuses,
      filter.ids,
      prefix === null ? filter.path : null,
      prefix,
      filter.catalogId,
      filter.parentId,
      filter.startedAfter,
      filter.startedBefore,
      limit,
    ],
  );
  return result.rows.map((row) => row.execution_id);
}

export async function childrenOf(pool: pg.Pool, ids: readonly Id[]): Promise<Id[]> {
  const result = await pool.query<{ execution_id: Id }>(
    `SELECT execution_id FROM noetl.execution WHERE parent_execution_id = ANY ($1::bigint[]) AND status IN ('PENDING', 'RUNNING')`,
    [ids],
  );
  return result.rows.map((row) => row.execution_id);
}

/** Takes the key for this execution, or tells whose it is. Unique in the database: two servers cannot both win. */
export async function claimIdempotencyKey(
  pool: pg.Pool,
  claim: { scope: string; key: string; executionId: Id; requestHash: string },
): Promise<{ executionId: Id; requestHash: string }> {
  const result = await pool.query<{ execution_id: Id; request_hash: string }>(
    `WITH added AS (
       INSERT INTO noetl.idempotency (scope, key, execution_id, request_hash) VALUES ($1, $2, $3, $4)
       ON CONFLICT (scope, key) DO NOTHING RETURNING execution_id, request_hash)
     SELECT execution_id, request_hash FROM added
     UNION ALL SELECT execution_id, request_hash FROM noetl.idempotency WHERE scope = $1 AND key = $2 LIMIT 1`,
    [claim.scope, claim.key, claim.executionId, claim.requestHash],
  );
  const [row] = result.rows;
  // The first writer committed after our snapshot: it is there now.
  return row === undefined
    ? claimIdempotencyKey(pool, claim)
    : { executionId: row.execution_id, requestHash: row.request_hash };
}

/** Keys are remembered for a window, per subscription (or parent execution). */
export async function claimDedupKey(
  pool: pg.Pool,
  claim: { scope: Id; key: string; executionId: Id; windowSeconds: number },
): Promise<Id> {
  const result = await pool.query<{ execution_id: Id }>(
    `INSERT INTO noetl.subscription_dedup AS d (subscription_id, dedup_key, execution_id) VALUES ($1, $2, $3)
     ON CONFLICT (subscription_id, dedup_key) DO UPDATE SET
       execution_id = CASE WHEN d.seen_at < now() - $4 * interval '1 s' THEN EXCLUDED.execution_id ELSE d.execution_id END,
       seen_at = CASE WHEN d.seen_at < now() - $4 * interval '1 s' THEN now() ELSE d.seen_at END
     RETURNING execution_id`,
    [claim.scope, claim.key, claim.executionId, claim.windowSeconds],
  );
  return result.rows[0]?.execution_id ?? claim.executionId;
}

export async function versionsOf(pool: pg.Pool, catalogIds: readonly Id[]): Promise<Map<Id, number>> {
  if (catalogIds.length === 0) return new Map();
  const result = await pool.query<{ catalog_id: Id; version: number }>(
    'SELECT catalog_id, version FROM noetl.catalog WHERE catalog_id = ANY ($1::bigint[])',
    [[...new Set(catalogIds)]],
  );
  return new Map(result.rows.map((row) => [row.catalog_id, row.version]));
}
