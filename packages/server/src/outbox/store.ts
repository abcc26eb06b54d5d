// SQL of `noetl.outbox`, on one shard. Ids here are the shard's own numbers. The statements are planned each time: the table swings between
// empty and millions of rows, and a plan that was made for one would be wrong for the other.
import type { Id } from '@noetl/core';
import type pg from 'pg';
import type { Audience, OutboxRow, OutboxStatus } from './model.js';

/** The conditions of the partial indexes (migrations/0004_outbox.sql), word for word: else they are not used. */
const FOR_AUDIENCE: Readonly<Record<Audience, string>> = {
  publishers: `topic <> 'callback'`,
  callbacks: `topic = 'callback'`,
};
const WAITING = `status IN ('PENDING', 'FAILED')`;
const STALE = `status = 'IN_FLIGHT' AND (lease_until < now() OR (lease_until IS NULL AND coalesce(locked_at, updated_at) < now() - $1 * interval '1 ms'))`;
const RECOVER_AT_ONCE = 1_000;

export interface Claim {
  readonly audience: Audience;
  readonly limit: number;
  readonly owner: string;
  readonly leaseMs: number;
}

/** Several claimers never wait for each other and never get the same row. */
export async function claimRows(pool: pg.Pool, claim: Claim): Promise<OutboxRow[]> {
  const result = await pool.query<OutboxRow>(
    `WITH ready AS MATERIALIZED (
       SELECT outbox_id FROM noetl.outbox
       WHERE ${WAITING} AND ${FOR_AUDIENCE[claim.audience]} AND available_at <= now()
       ORDER BY outbox_id LIMIT $1 FOR UPDATE SKIP LOCKED)
     UPDATE noetl.outbox SET status = 'IN_FLIGHT', attempts = attempts + 1, lock_token = lock_token + 1, locked_at = now(), locked_by = $2,
       lease_until = now() + $3 * interval '1 ms', updated_at = now()
     WHERE outbox_id = ANY (ARRAY(SELECT outbox_id FROM ready))
     RETURNING outbox_id, topic, subject, msg_id, execution_id, event_id, payload, payload_codec, headers, attempts,
       lock_token::float8 AS lock_token`,
    [claim.limit, claim.owner, claim.leaseMs],
  );
  return result.rows;
}

/** Takes rows back whose owner did not mark them in time. One that has used up its attempts may be what kills its owners: it is dead. */
export async function recoverStale(
  pool: pg.Pool,
  options: { leaseMs: number; maxAttempts: number },
): Promise<{ recovered: number; dead: number }> {
  const result = await pool.query<{ status: OutboxStatus }>(
    `UPDATE noetl.outbox SET status = CASE WHEN attempts >= $2 THEN 'DEAD' ELSE 'PENDING' END, lease_until = NULL, updated_at = now(),
       last_error = CASE WHEN attempts >= $2 THEN coalesce(last_error, 'claimed ' || attempts || ' times and never marked') ELSE last_error END
     WHERE outbox_id = ANY (ARRAY(SELECT outbox_id FROM noetl.outbox WHERE ${STALE} LIMIT ${RECOVER_AT_ONCE} FOR UPDATE SKIP LOCKED))
     RETURNING status`,
    [options.leaseMs, options.maxAttempts],
  );
  const dead = result.rows.filter((row) => row.status === 'DEAD').length;
  return { recovered: result.rows.length - dead, dead };
}

export interface LocalMark {
  readonly id: Id;
  /** Absent: whoever says so is believed, because what was published was published. */
  readonly token: number | undefined;
}

/** A row that is marked again counts again, and keeps the time of the first mark. */
export async function markPublished(pool: pg.Pool, marks: readonly LocalMark[]): Promise<number> {
  const result = await pool.query(
    `UPDATE noetl.outbox o SET status = 'PUBLISHED', published_at = coalesce(o.published_at, now()), updated_at = now(), last_error = NULL,
       lease_until = NULL
     FROM unnest($1::bigint[], $2::bigint[]) AS m(outbox_id, token)
     WHERE o.outbox_id = m.outbox_id AND o.outbox_id = ANY ($1::bigint[]) AND (m.token IS NULL OR o.lock_token = m.token)`,
    [marks.map((mark) => mark.id), marks.map((mark) => mark.token ?? null)],
  );
  return result.rowCount ?? 0;
}

/** Undefined: no such row, it is published or dead already, or it has another owner by now. */
export async function markFailed(
  pool: pg.Pool,
  mark: LocalMark & { readonly error: string; readonly delaySeconds: number; readonly maxAttempts: number },
): Promise<'FAILED' | 'DEAD' | undefined> {
  const result = await pool.query<{ status: 'FAILED' | 'DEAD' }>(
    `UPDATE noetl.outbox SET status = CASE WHEN attempts >= $5 THEN 'DEAD' ELSE 'FAILED' END,
       available_at = now() + $3 * interval '1 s', last_error = $4, lease_until = NULL, updated_at = now()
     WHERE outbox_id = $1 AND CASE WHEN $2::bigint IS NULL THEN status IN ('PENDING', 'IN_FLIGHT', 'FAILED')
                                   ELSE status = 'IN_FLIGHT' AND lock_token = $2 END
     RETURNING status`,
    [mark.id, mark.token ?? null, mark.delaySeconds, mark.error, mark.maxAttempts],
  );
  return result.rows[0]?.status;
}

/** What a claim of publishers could get now, rows whose owner is lost included. */
export async function pendingCount(pool: pg.Pool, leaseMs: number): Promise<number> {
  const result = await pool.query<{ pending: number }>(
    `SELECT ((SELECT count(*) FROM noetl.outbox WHERE ${WAITING} AND ${FOR_AUDIENCE.publishers} AND available_at <= now())
           + (SELECT count(*) FROM noetl.outbox WHERE ${STALE} AND ${FOR_AUDIENCE.publishers}))::float8 AS pending`,
    [leaseMs],
  );
  return result.rows[0]?.pending ?? 0;
}

/** Dead rows get a fresh count; without ids, all of them. */
export async function reviveDead(pool: pg.Pool, ids: readonly Id[] | undefined): Promise<number> {
  const result = await pool.query(
    `UPDATE noetl.outbox SET status = 'PENDING', attempts = 0, available_at = now(), updated_at = now()
     WHERE status = 'DEAD' AND ($1::bigint[] IS NULL OR outbox_id = ANY ($1::bigint[]))`,
    [ids ?? null],
  );
  return result.rowCount ?? 0;
}

export interface TopicCount {
  readonly topic: string;
  readonly status: OutboxStatus;
  readonly rows: number;
  /** Of those in flight: their owner is lost, and the next claim takes them back. */
  readonly expired: number;
  /** Seconds since the oldest of them was written. */
  readonly oldest_seconds: number;
}

/** Everything that is not delivered yet. One branch per partial index: published rows are many and are not looked at. */
export async function undelivered(pool: pg.Pool): Promise<TopicCount[]> {
  const branch = (condition: string) =>
    `SELECT topic, status, count(*)::float8 AS rows, count(*) FILTER (WHERE lease_until < now())::float8 AS expired,
       extract(epoch FROM now() - min(created_at))::float8 AS oldest_seconds
     FROM noetl.outbox WHERE ${condition} GROUP BY topic, status`;
  const result = await pool.query<TopicCount>(
    `${branch(`${WAITING} AND ${FOR_AUDIENCE.publishers}`)} UNION ALL ${branch(`${WAITING} AND ${FOR_AUDIENCE.callbacks}`)}
     UNION ALL ${branch(`status = 'IN_FLIGHT'`)} UNION ALL ${branch(`status = 'DEAD'`)}`,
  );
  return result.rows;
}

export interface DeadRow {
  readonly outbox_id: Id;
  readonly topic: string;
  readonly subject: string | null;
  readonly execution_id: Id | null;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly updated_at: string;
}

export async function deadRows(pool: pg.Pool, limit: number): Promise<DeadRow[]> {
  const result = await pool.query<DeadRow>(
    `SELECT outbox_id, topic, subject, execution_id, attempts, last_error, updated_at FROM noetl.outbox
     WHERE status = 'DEAD' ORDER BY updated_at DESC LIMIT $1`,
    [limit],
  );
  return result.rows;
}
