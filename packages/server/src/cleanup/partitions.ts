// Retention of the log: whole partitions, never single events, and never one in which something is still alive. Partitions are cut by the time
// an execution began, so an old one can hold an execution that still runs, or a subscription that listens for years.
import { type Id, idFromTimestampMs, parseId } from '@noetl/core';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Shard } from '../db/index.js';
import { deleteInSteps, SNAPSHOT_EXECUTION } from './rules.js';

export interface DroppedPartitions {
  readonly dropped: string[];
  /** Old enough, but something in it is alive. */
  readonly kept: string[];
  /** Execution rows that went with them. */
  executions: number;
}

interface Partition {
  readonly name: string;
  readonly lower: Id;
  readonly upper: Id;
  /** A detach that was interrupted. */
  readonly pending: boolean;
}

/** On a table that is about to be dropped: one that a crash left detached is recognised by it and nobody else's is touched. */
const MARK = 'noetl: retention, to be dropped';
const PATIENCE = '60s';

export async function dropOldPartitions(
  shard: Shard,
  options: { days: number; now: number; dryRun: boolean; logger: Logger },
): Promise<DroppedPartitions> {
  const report: DroppedPartitions = { dropped: [], kept: [], executions: 0 };
  const cutoff = BigInt(idFromTimestampMs(options.now - options.days * 86_400_000));
  if (!options.dryRun) report.executions += await dropLeftovers(shard.pool);
  for (const partition of await partitions(shard.pool)) {
    if (BigInt(partition.upper) > cutoff) continue;
    if (await holdsLife(shard.pool, partition)) {
      report.kept.push(partition.name);
      options.logger.warn(
        { partition: partition.name, shard: shard.name },
        'an old partition is kept: something in it is alive',
      );
      continue;
    }
    if (options.dryRun) {
      report.dropped.push(partition.name);
      continue;
    }
    try {
      await detach(shard.pool, partition);
      // Nothing can come into it any more. What came in while we detached it, an import for example, takes it back.
      if (await holdsLife(shard.pool, partition)) {
        await attach(shard.pool, partition);
        report.kept.push(partition.name);
        continue;
      }
      report.executions += await dropDetached(shard.pool, partition.name);
      report.dropped.push(partition.name);
    } catch (error) {
      // Not the owner, or a reader that does not let go: the others are dropped, and this one is tried again.
      options.logger.warn(
        { err: error, partition: partition.name, shard: shard.name },
        'a partition could not be dropped',
      );
    }
  }
  return report;
}

async function partitions(pool: pg.Pool): Promise<Partition[]> {
  const result = await pool.query<{ name: string; bound: string; pending: boolean }>(
    `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound, i.inhdetachpending AS pending
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'noetl.event'::regclass ORDER BY c.relname`,
  );
  return result.rows.flatMap(({ name, bound, pending }) => {
    // A DEFAULT partition and bounds without an end (MINVALUE, MAXVALUE) are not ours to judge.
    const [, from, to] = /FROM \('?(\d+)'?\) TO \('?(\d+)'?\)/.exec(bound ?? '') ?? [];
    const [lower, upper] = [parseId(from), parseId(to)];
    return lower === undefined || upper === undefined ? [] : [{ name, lower, upper, pending }];
  });
}

async function holdsLife(pool: pg.Pool, { lower, upper }: Partition): Promise<boolean> {
  const result = await pool.query<{ alive: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM noetl.execution WHERE execution_id >= $1 AND execution_id < $2
                    AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED'))
         OR EXISTS (SELECT 1 FROM noetl.subscription WHERE subscription_id >= $1 AND subscription_id < $2 AND state <> 'DEACTIVATED')
         OR EXISTS (SELECT 1 FROM noetl.message WHERE sender_id >= $1 AND sender_id < $2) AS alive`,
    [lower, upper],
  );
  return result.rows[0]?.alive === true;
}

/** Without locking out appends: a plain DROP would wait for every reader while every writer waits for it. */
async function detach(pool: pg.Pool, { name, pending }: Partition): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`SET statement_timeout = '${PATIENCE}'`);
    await client.query(`COMMENT ON TABLE noetl.${quoted(name)} IS '${MARK}'`);
    await client.query(
      `ALTER TABLE noetl.event DETACH PARTITION noetl.${quoted(name)} ${pending ? 'FINALIZE' : 'CONCURRENTLY'}`,
    );
  } finally {
    await client.query('RESET statement_timeout').catch(() => undefined);
    client.release();
  }
}

async function attach(pool: pg.Pool, { name, lower, upper }: Partition): Promise<void> {
  await pool.query(
    `ALTER TABLE noetl.event ATTACH PARTITION noetl.${quoted(name)} FOR VALUES FROM (${lower}) TO (${upper})`,
  );
  await pool.query(`COMMENT ON TABLE noetl.${quoted(name)} IS NULL`);
}

/** What a crash left between detaching and dropping. */
async function dropLeftovers(pool: pg.Pool): Promise<number> {
  const result = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'noetl' AND c.relkind = 'r' AND obj_description(c.oid, 'pg_class') = $1
       AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid)`,
    [MARK],
  );
  let executions = 0;
  for (const { name } of result.rows) executions += await dropDetached(pool, name);
  return executions;
}

/** An execution whose log is gone is gone: its rows go first, so that a crash leaves the table to come back to. */
async function dropDetached(pool: pg.Pool, name: string): Promise<number> {
  const { rows } = await pool.query<{ first: Id | null; last: Id | null }>(
    `SELECT min(execution_id) AS first, max(execution_id) AS last FROM noetl.${quoted(name)}`,
  );
  const range = [rows[0]?.first ?? '0', rows[0]?.last ?? '-1'];
  const inRange = 'execution_id BETWEEN $1 AND $2';
  for (const table of ['noetl.command', 'noetl.transient', 'noetl.result_store']) {
    await deleteInSteps(pool, table, inRange, range);
  }
  await deleteInSteps(pool, 'noetl.projection_snapshot', `${SNAPSHOT_EXECUTION} BETWEEN $1 AND $2`, range);
  const executions = await deleteInSteps(pool, 'noetl.execution', inRange, range);
  await pool.query(`DROP TABLE noetl.${quoted(name)}`);
  return executions;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
