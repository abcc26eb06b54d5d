// Which rows are old, table by table. The one place in the server that deletes rows of other capabilities: retention is decided here and
// nowhere else. Deleting goes in small steps, because a long transaction would hold up everything that follows the log.
import type pg from 'pg';
import type { CleanupPolicy } from './policy.js';

/** The value of the label `table` of the metric. */
export const PURGED_TABLES = [
  'command',
  'runtime',
  'event_partition',
  'execution',
  'outbox',
  'result',
  'transient',
  'snapshot',
  'dedup',
  'idempotency',
  'keychain',
] as const;
export type PurgedTable = (typeof PURGED_TABLES)[number];

export interface Rule {
  readonly table: PurgedTable;
  readonly from: string;
  /** `$1` is the age. */
  readonly where: string;
  readonly on: 'shards' | 'cluster';
  /** Undefined: this rule is off. */
  age(policy: CleanupPolicy): number | undefined;
}

/** The execution that a snapshot is of: its aggregate is called by the id, or `execution/<id>/…`. */
export const SNAPSHOT_EXECUTION = `substring(aggregate_id FROM '^(?:execution/)?(\\d{1,19})')::bigint`;

const LIVE = `status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')`;
const notLive = (table: string) =>
  `NOT EXISTS (SELECT 1 FROM noetl.execution e WHERE e.execution_id = ${table}.execution_id AND e.${LIVE})`;

export const RULES: readonly Rule[] = [
  {
    table: 'command',
    from: 'noetl.command',
    where: `completed_at IS NOT NULL AND completed_at < now() - $1 * interval '1 day'`,
    on: 'shards',
    age: (policy) => positive(policy.command_retention_days),
  },
  {
    table: 'runtime',
    from: 'noetl.runtime',
    where: `kind = 'worker_pool' AND heartbeat < now() - $1 * interval '1 minute'`,
    on: 'cluster',
    age: (policy) => positive(policy.runtime_stale_minutes),
  },
  {
    table: 'outbox',
    from: 'noetl.outbox',
    where: `status = 'PUBLISHED' AND published_at < now() - $1 * interval '1 hour'`,
    on: 'shards',
    age: (policy) => positive(policy.outbox_retention_hours),
  },
  {
    table: 'result',
    from: 'noetl.result_store',
    // One with an end of its own goes by that.
    where: `created_at < now() - $1 * interval '1 day' AND expires_at IS NULL AND scope <> 'permanent' AND ${notLive('result_store')}`,
    on: 'shards',
    age: (policy) => positive(policy.result_retention_days),
  },
  {
    table: 'transient',
    from: 'noetl.transient',
    where: `scope <> 'permanent' AND accessed_at < now() - $1 * interval '1 day' AND ${notLive('transient')}`,
    on: 'shards',
    age: (policy) => positive(policy.transient_retention_days),
  },
  {
    table: 'snapshot',
    from: 'noetl.projection_snapshot',
    where: `EXISTS (SELECT 1 FROM noetl.execution e WHERE e.execution_id = ${SNAPSHOT_EXECUTION} AND e.end_time < now() - $1 * interval '1 day')`,
    on: 'shards',
    age: (policy) => positive(policy.snapshot_retention_days),
  },
  {
    table: 'dedup',
    from: 'noetl.subscription_dedup',
    where: `seen_at < now() - $1 * interval '1 day'`,
    on: 'cluster',
    age: (policy) => positive(policy.dedup_max_age_days),
  },
  {
    table: 'idempotency',
    from: 'noetl.idempotency',
    where: `created_at < now() - $1 * interval '1 day'`,
    on: 'cluster',
    age: (policy) => positive(policy.idempotency_retention_days),
  },
  {
    table: 'keychain',
    from: 'noetl.keychain',
    where: `expires_at < now() - $1 * interval '1 second'`,
    on: 'cluster',
    age: (policy) => (policy.keychain_expired ? 0 : undefined),
  },
];

function positive(age: number): number | undefined {
  return age > 0 ? age : undefined;
}

const STEP = 5_000;

export async function deleteOld(pool: pg.Pool, rule: Rule, age: number): Promise<number> {
  return deleteInSteps(pool, rule.from, rule.where, [age]);
}

export async function countOld(pool: pg.Pool, rule: Rule, age: number): Promise<number> {
  const result = await pool.query<{ n: number }>(`SELECT count(*)::float8 AS n FROM ${rule.from} WHERE ${rule.where}`, [
    age,
  ]);
  return result.rows[0]?.n ?? 0;
}

export async function deleteInSteps(
  pool: pg.Pool,
  from: string,
  where: string,
  values: readonly unknown[],
): Promise<number> {
  let total = 0;
  for (;;) {
    const result = await pool.query(
      `DELETE FROM ${from} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${from} WHERE ${where} LIMIT ${STEP}))`,
      [...values],
    );
    total += result.rowCount ?? 0;
    if ((result.rowCount ?? 0) < STEP) return total;
  }
}
