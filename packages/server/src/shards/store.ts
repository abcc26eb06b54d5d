// SQL of `noetl.database_role`, and the figures of one shard.
import type { Id } from '@noetl/core';
import type pg from 'pg';
import type { ClusterRole, ShardRole } from './placement.js';

type Queryable = pg.Pool | pg.PoolClient;

export async function clusterRole(db: Queryable): Promise<ClusterRole | undefined> {
  const { rows } = await db.query<ClusterRole>(
    `SELECT installation_id::text AS installation, shard_count AS count, settled FROM noetl.database_role WHERE role = 'cluster'`,
  );
  return rows[0];
}

export async function shardRole(db: Queryable): Promise<ShardRole | undefined> {
  const { rows } = await db.query<ShardRole>(
    `SELECT installation_id::text AS installation, shard_index AS index, shard_count AS count FROM noetl.database_role WHERE role = 'shard'`,
  );
  return rows[0];
}

export async function rememberCluster(db: Queryable, installation: string, count: number): Promise<void> {
  await db.query(
    `INSERT INTO noetl.database_role (role, installation_id, shard_count) VALUES ('cluster', $1, $2)
     ON CONFLICT (role) DO UPDATE SET shard_count = EXCLUDED.shard_count`,
    [installation, count],
  );
}

export async function rememberShard(db: Queryable, { installation, index, count }: ShardRole): Promise<void> {
  await db.query(
    `INSERT INTO noetl.database_role (role, installation_id, shard_index, shard_count) VALUES ('shard', $1, $2, $3)
     ON CONFLICT (role) DO UPDATE SET shard_index = EXCLUDED.shard_index, shard_count = EXCLUDED.shard_count`,
    [installation, index, count],
  );
}

export async function settle(db: Queryable): Promise<void> {
  await db.query(`UPDATE noetl.database_role SET settled = true WHERE role = 'cluster'`);
}

/** Some executions of this database, to see whether they belong here. */
export async function someExecutions(db: Queryable, limit: number): Promise<Id[]> {
  const { rows } = await db.query<{ execution_id: Id }>('SELECT execution_id FROM noetl.execution LIMIT $1', [limit]);
  return rows.map((row) => row.execution_id);
}

export interface ShardFigures {
  readonly executions: Readonly<Record<string, number>>;
  /** As the statistics of PostgreSQL know it: counting a log takes as long as reading it. */
  readonly events_estimate: number;
  readonly commands_open: number;
  readonly commands_ready: number;
  readonly outbox_backlog: number;
  readonly messages_waiting: number;
  readonly database_bytes: number;
}

export async function shardFigures(pool: pg.Pool): Promise<ShardFigures> {
  const { rows } = await pool.query<ShardFigures>({
    name: 'shard-figures',
    text: `SELECT
        (SELECT coalesce(jsonb_object_agg(status, n), '{}') FROM (SELECT status, count(*) AS n FROM noetl.execution GROUP BY status) s)
          AS executions,
        (SELECT coalesce(sum(greatest(c.reltuples, s.n_live_tup, 0)), 0)::float8
           FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
           WHERE i.inhparent = 'noetl.event'::regclass) AS events_estimate,
        (SELECT count(*)::float8 FROM noetl.command WHERE completed_at IS NULL) AS commands_open,
        (SELECT count(*)::float8 FROM noetl.command WHERE status = 'PENDING' AND available_at <= now()) AS commands_ready,
        (SELECT count(*)::float8 FROM noetl.outbox WHERE status IN ('PENDING', 'FAILED', 'IN_FLIGHT')) AS outbox_backlog,
        (SELECT count(*)::float8 FROM noetl.message) AS messages_waiting,
        pg_database_size(current_database())::float8 AS database_bytes`,
  });
  const [figures] = rows;
  if (figures === undefined) throw new Error('the database gave no figures');
  return figures;
}
