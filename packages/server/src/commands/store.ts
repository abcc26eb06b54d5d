// SQL of `noetl.command` outside the append transaction: finding ready commands, renewing and expiring leases.
import { commandEventId, type Id, type Json } from '@noetl/core';
import type pg from 'pg';
import type { ReadyCommand } from './ready.js';

interface ReadyRow {
  command_id: string;
  execution_id: Id;
  event_id: Id;
  step_name: string;
  tool_kind: string | null;
  pool: string;
  attempt: number;
  max_attempts: number;
  claim_token: number;
  context: Json;
  meta: Json;
  resume: Json;
}

const READY_COLUMNS = `c.command_id, c.execution_id, c.event_id, c.step_name, c.tool_kind, c.pool, c.attempt, c.max_attempts, c.claim_token::float8 AS claim_token, e.context, e.meta,
  r.context -> 'resume' AS resume`;
const JOIN_EVENT = `JOIN noetl.event e ON e.execution_id = c.execution_id AND e.event_id = c.event_id
  LEFT JOIN noetl.event r ON r.execution_id = c.execution_id AND r.event_id = c.resume_event_id`;

export async function readyCommands(pool: pg.Pool, pools: readonly string[], limit: number): Promise<ReadyCommand[]> {
  const result = await pool.query<ReadyRow>({
    name: 'ready-commands',
    text: `SELECT ${READY_COLUMNS} FROM (
             SELECT * FROM noetl.command WHERE status = 'PENDING' AND pool = ANY ($1::text[]) AND available_at <= now()
             ORDER BY available_at LIMIT $2) c ${JOIN_EVENT} ORDER BY c.available_at, c.event_id`,
    values: [pools, limit],
  });
  return result.rows.map(readyOf);
}

export interface CommandRow extends ReadyCommand {
  readonly status: string;
  readonly workerId: string | null;
}

export async function commandByEventId(pool: pg.Pool, eventId: Id): Promise<CommandRow | undefined> {
  const result = await pool.query<ReadyRow & { status: string; worker_id: string | null }>({
    name: 'command-by-event',
    text: `SELECT ${READY_COLUMNS}, c.status, c.worker_id FROM noetl.command c ${JOIN_EVENT} WHERE c.event_id = $1`,
    values: [eventId],
  });
  const row = result.rows[0];
  return row && { ...readyOf(row), status: row.status, workerId: row.worker_id };
}

export interface ClosedCommand {
  readonly status: string;
  readonly token: number;
}

/** What became of commands that are no longer open. */
export async function commandStatuses(pool: pg.Pool, ids: readonly string[]): Promise<Map<string, ClosedCommand>> {
  const result = await pool.query<{ command_id: string; status: string; claim_token: number }>({
    name: 'command-statuses',
    text: `SELECT command_id, status, claim_token::float8 AS claim_token FROM noetl.command WHERE event_id = ANY ($1::bigint[])`,
    values: [ids.flatMap((id) => commandEventId(id) ?? [])],
  });
  return new Map(result.rows.map((row) => [row.command_id, { status: row.status, token: row.claim_token }]));
}

/**
 * Renews what is still held. A lease that has run out may be renewed as long as nobody has taken it away (`lease_until` is then
 * NULL): after the server itself was away, healthy workers keep their work.
 */
export async function renewLeases(
  pool: pg.Pool,
  leases: readonly { command_id: string; claim_token: number }[],
  leaseMs: number,
): Promise<Set<string>> {
  const result = await pool.query<{ command_id: string }>({
    name: 'renew-leases',
    text: `UPDATE noetl.command c SET lease_until = now() + $3 * interval '1 ms'
           FROM unnest($1::bigint[], $2::bigint[]) AS l(event_id, claim_token)
           WHERE c.event_id = l.event_id AND c.claim_token = l.claim_token
             AND c.status IN ('CLAIMED', 'RUNNING') AND c.lease_until IS NOT NULL
           RETURNING c.command_id`,
    values: [
      leases.map((lease) => commandEventId(lease.command_id) ?? '0'),
      leases.map((lease) => lease.claim_token),
      leaseMs,
    ],
  });
  return new Set(result.rows.map((row) => row.command_id));
}

/** Workers that only say they are alive keep everything they hold. */
export async function renewLeasesOfWorker(pool: pg.Pool, workerId: string, leaseMs: number): Promise<void> {
  await pool.query({
    name: 'renew-leases-of-worker',
    text: `UPDATE noetl.command SET lease_until = now() + $2 * interval '1 ms'
           WHERE status IN ('CLAIMED', 'RUNNING') AND lease_until IS NOT NULL AND worker_id = $1`,
    values: [workerId, leaseMs],
  });
}

/** Its worker has left: the next sweep gives its commands to others. */
export async function expireLeasesOfWorker(pool: pg.Pool, workerId: string): Promise<void> {
  await pool.query(
    `UPDATE noetl.command SET lease_until = now() WHERE status IN ('CLAIMED', 'RUNNING') AND worker_id = $1 AND lease_until > now()`,
    [workerId],
  );
}

export interface ExpiredLease {
  readonly command_id: string;
  readonly execution_id: Id;
  readonly claim_token: number;
}

export interface DueCommand {
  readonly command_id: string;
  readonly execution_id: Id;
  readonly claim_token: number;
}

/** Whoever takes a deadline has this long to act on it; then it is found again. */
const DUE_HOLD_SECONDS = 5;

export async function takeDueCommands(pool: pg.Pool, limit: number): Promise<DueCommand[]> {
  const result = await pool.query<DueCommand>({
    name: 'due-commands',
    text: `UPDATE noetl.command SET due_at = now() + $2 * interval '1 s' WHERE event_id IN (
             SELECT event_id FROM noetl.command WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
           RETURNING command_id, execution_id, claim_token::float8 AS claim_token`,
    values: [limit, DUE_HOLD_SECONDS],
  });
  return result.rows;
}

/** Takes expired leases away for good. A crash before they are re-issued leaves them NULL, and the next sweep finds them again. */
export async function takeExpiredLeases(pool: pg.Pool, limit: number): Promise<ExpiredLease[]> {
  const result = await pool.query<ExpiredLease>({
    name: 'expired-leases',
    text: `UPDATE noetl.command SET lease_until = NULL WHERE event_id IN (
             SELECT event_id FROM noetl.command
             WHERE status IN ('CLAIMED', 'RUNNING') AND (lease_until < now() OR lease_until IS NULL)
             ORDER BY lease_until NULLS FIRST LIMIT $1 FOR UPDATE SKIP LOCKED)
           RETURNING command_id, execution_id, claim_token::float8 AS claim_token`,
    values: [limit],
  });
  return result.rows;
}

function readyOf(row: ReadyRow): ReadyCommand {
  return {
    commandId: row.command_id,
    executionId: row.execution_id,
    eventId: row.event_id,
    step: row.step_name,
    toolKind: row.tool_kind ?? '',
    pool: row.pool,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    token: row.claim_token,
    context: row.context,
    meta: row.meta,
    ...(row.resume === null ? {} : { resume: row.resume }),
  };
}
