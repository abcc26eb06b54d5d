// Monthly partitions of `noetl.event`, cut where execution ids cross a month. They are made ahead of time, because a missing
// one would refuse appends; retention later drops whole partitions.
import { type Id, idFromTimestampMs, idTimestampMs } from '@noetl/core';
import type pg from 'pg';

const MONTHS_AHEAD = 3;
const LOCK_KEY = 7_306_081_948;

/** Makes the partitions from `from`'s month to some months after `now`. Safe to call at any time, from several servers. */
export async function ensurePartitions(pool: pg.Pool, now: Date, from: Date = now): Promise<string[]> {
  const existing = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'noetl.event'::regclass`,
  );
  const have = new Set(existing.rows.map((row) => row.name));
  const made: string[] = [];
  const last = monthStart(now, MONTHS_AHEAD);
  // One month back as well: an execution started just before midnight of the first is still running after it.
  for (let month = monthStart(from, -1); month <= last; month = monthStart(month, 1)) {
    const name = partitionName(month);
    if (have.has(name)) continue;
    await makePartition(pool, month);
    made.push(name);
  }
  return made;
}

/** The partition of one execution, whenever it began: for logs that were started elsewhere, long ago. */
export async function ensurePartitionOf(pool: pg.Pool, executionId: Id): Promise<void> {
  const month = monthStart(new Date(idTimestampMs(executionId)), 0);
  const { rows } = await pool.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    `noetl.${partitionName(month)}`,
  ]);
  if (rows[0]?.found !== true) await makePartition(pool, month);
}

async function makePartition(pool: pg.Pool, month: Date): Promise<void> {
  const lower = idFromTimestampMs(month.getTime());
  const upper = idFromTimestampMs(monthStart(month, 1).getTime());
  // Two servers that start together would both find it missing: IF NOT EXISTS alone does not survive that race.
  await pool.query(
    `SELECT pg_advisory_xact_lock(${LOCK_KEY}); CREATE TABLE IF NOT EXISTS noetl.${partitionName(month)} PARTITION OF noetl.event FOR VALUES FROM (${lower}) TO (${upper})`,
  );
}

export function partitionName(month: Date): string {
  return `event_${month.getUTCFullYear()}_${String(month.getUTCMonth() + 1).padStart(2, '0')}`;
}

function monthStart(date: Date, offset: number): Date {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1));
}
