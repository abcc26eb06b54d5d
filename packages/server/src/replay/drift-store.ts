// SQL of the rows that replay is compared with.
import type { Id } from '@noetl/core';
import type { Pools } from '../db/index.js';
import type { Queryable } from './store.js';

export interface LiveExecution {
  readonly status: string;
  readonly head_version: number;
  readonly imported: boolean;
}

export async function liveExecution(db: Queryable, id: Id): Promise<LiveExecution | undefined> {
  const result = await db.query<LiveExecution>(
    `SELECT status, head_version::float8 AS head_version, routing ? 'imported' AS imported FROM noetl.execution WHERE execution_id = $1`,
    [id],
  );
  return result.rows[0];
}

export interface LiveCommand {
  readonly event_id: Id;
  readonly status: string;
}

/** By the event that issued them. */
export async function liveCommands(db: Queryable, issued: readonly Id[]): Promise<Map<Id, LiveCommand>> {
  const result = await db.query<LiveCommand>(
    'SELECT event_id, status FROM noetl.command WHERE event_id = ANY ($1::bigint[])',
    [issued],
  );
  return new Map(result.rows.map((row) => [row.event_id, row]));
}

/** Ids of executions on all shards, in order. */
export async function executionsAfter(pools: Pools, after: Id, limit: number): Promise<Id[]> {
  const found = await Promise.all(
    pools.shards.map(({ pool }) =>
      pool.query<{ execution_id: Id }>(
        'SELECT execution_id FROM noetl.execution WHERE execution_id > $1 ORDER BY execution_id LIMIT $2',
        [after, limit],
      ),
    ),
  );
  return found
    .flatMap((result) => result.rows.map((row) => row.execution_id))
    .sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    .slice(0, limit);
}
