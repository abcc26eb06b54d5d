// SQL of the projections: which executions are ours, and how far their logs have come.
import type { Id } from '@noetl/core';
import type pg from 'pg';
import type { Pools } from '../db/index.js';

/** `ours`: driven by our engine. `imported`: its log came from elsewhere. Absent: there is no such execution. */
export async function executionOrigins(pools: Pools, ids: readonly Id[]): Promise<Map<Id, 'ours' | 'imported'>> {
  const found = await Promise.all(
    pools.shards.map((shard) => {
      const here = ids.filter((id) => pools.forExecution(id) === shard);
      return here.length === 0 ? [] : originsOn(shard.pool, here);
    }),
  );
  return new Map(found.flat().map((row) => [row.execution_id, row.imported ? 'imported' : 'ours']));
}

async function originsOn(pool: pg.Pool, ids: readonly Id[]): Promise<{ execution_id: Id; imported: boolean }[]> {
  const result = await pool.query<{ execution_id: Id; imported: boolean }>(
    `SELECT execution_id, coalesce(routing -> 'imported' = 'true', false) AS imported FROM noetl.execution
     WHERE execution_id = ANY ($1::bigint[])`,
    [ids],
  );
  return result.rows;
}

/** The highest event id up to a version. Ids are walked from the top: almost always the first one is it. */
export async function highestEventId(pool: pg.Pool, id: Id, streamVersion: number): Promise<Id | undefined> {
  const result = await pool.query<{ event_id: Id }>(
    'SELECT event_id FROM noetl.event WHERE execution_id = $1 AND stream_version <= $2 ORDER BY event_id DESC LIMIT 1',
    [id, streamVersion],
  );
  return result.rows[0]?.event_id;
}
