// SQL of `noetl.subscription`. A change and its event are one statement: the row says what the log says, or neither was written.
import {
  type EventRow,
  type Id,
  type Json,
  type SubscriptionEventType,
  type SubscriptionRecord,
  type SubscriptionState,
  stringifyJson,
  toStorableText,
} from '@noetl/core';
import type pg from 'pg';

interface SubscriptionRow {
  readonly subscription_id: Id;
  readonly path: string;
  readonly catalog_id: Id;
  readonly state: SubscriptionState;
  readonly revision: number;
  readonly last_event_type: SubscriptionEventType;
  readonly last_event_id: Id;
  readonly updated_at: string;
}

const COLUMNS = `subscription_id, path, catalog_id, state, revision::float8 AS revision, last_event_type, last_event_id, updated_at`;

function recordOf(row: SubscriptionRow): SubscriptionRecord {
  return {
    subscriptionId: row.subscription_id,
    path: row.path,
    catalogId: row.catalog_id,
    state: row.state,
    revision: row.revision,
    lastEventType: row.last_event_type,
    lastEventId: row.last_event_id,
    updatedAt: row.updated_at,
  };
}

const LOGGED = `
  INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, node_id, node_name, node_type, status,
    context, meta, created_at)
  SELECT subscription_id, last_event_id, $9::bigint, catalog_id, last_event_type, $10, path, $11, state, $12::jsonb, $13::jsonb, updated_at`;

// A path has one living subscription: whoever comes second, from this server or another, adds nothing.
const ADD = `
  WITH added AS (
    INSERT INTO noetl.subscription (subscription_id, path, catalog_id, state, revision, last_event_type, last_event_id, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (path) WHERE state <> 'DEACTIVATED' DO NOTHING
    RETURNING *
  ), logged AS (${LOGGED} FROM added)
  SELECT ${COLUMNS} FROM added`;

// $5 is the revision after the change: the row must still be at the one before it. The log would refuse a second event at the same
// place anyway; this way an ordinary race is no error in the database's log.
const MOVE = `
  WITH moved AS (
    UPDATE noetl.subscription SET path = $2, catalog_id = $3, state = $4, revision = $5, last_event_type = $6, last_event_id = $7, updated_at = $8
    WHERE subscription_id = $1 AND revision = $5::bigint - 1
    RETURNING *
  ), logged AS (${LOGGED} FROM moved)
  SELECT ${COLUMNS} FROM moved`;

export const addSubscription = (pool: pg.Pool, next: SubscriptionRecord, event: EventRow) =>
  write(pool, ADD, next, event);

export const moveSubscription = (pool: pg.Pool, next: SubscriptionRecord, event: EventRow) =>
  write(pool, MOVE, next, event);

/** What is stored now, or undefined when somebody else was first: then nothing was written. */
async function write(
  pool: pg.Pool,
  text: string,
  next: SubscriptionRecord,
  event: EventRow,
): Promise<SubscriptionRecord | undefined> {
  const json = (value: Json) => toStorableText(stringifyJson(value));
  const result = await pool.query<SubscriptionRow>(text, [
    next.subscriptionId,
    next.path,
    next.catalogId,
    next.state,
    next.revision,
    next.lastEventType,
    next.lastEventId,
    next.updatedAt,
    event.stream_version,
    event.node_id,
    event.node_type,
    json(event.context),
    json(event.meta),
  ]);
  const [row] = result.rows;
  return row === undefined ? undefined : recordOf(row);
}

export async function subscriptionById(pool: pg.Pool, id: Id): Promise<SubscriptionRecord | undefined> {
  const result = await pool.query<SubscriptionRow>(
    `SELECT ${COLUMNS} FROM noetl.subscription WHERE subscription_id = $1`,
    [id],
  );
  const [row] = result.rows;
  return row === undefined ? undefined : recordOf(row);
}

/** With the stream version of its newest event: others may write to the log too. */
export async function subscriptionAtHead(
  pool: pg.Pool,
  id: Id,
): Promise<{ record: SubscriptionRecord; head: number } | undefined> {
  const result = await pool.query<SubscriptionRow & { head: number }>(
    `SELECT ${COLUMNS}, (SELECT coalesce(max(stream_version), 0)::float8 FROM noetl.event WHERE execution_id = $1) AS head
     FROM noetl.subscription WHERE subscription_id = $1`,
    [id],
  );
  const [row] = result.rows;
  return row === undefined ? undefined : { record: recordOf(row), head: row.head };
}

export async function livingSubscription(pool: pg.Pool, path: string): Promise<SubscriptionRecord | undefined> {
  const result = await pool.query<SubscriptionRow>(
    `SELECT ${COLUMNS} FROM noetl.subscription WHERE path = $1 AND state <> 'DEACTIVATED'`,
    [path],
  );
  const [row] = result.rows;
  return row === undefined ? undefined : recordOf(row);
}

export async function listSubscriptions(
  pool: pg.Pool,
  filter: { state: SubscriptionState | null; path: string | null },
): Promise<SubscriptionRecord[]> {
  const result = await pool.query<SubscriptionRow>(
    `SELECT ${COLUMNS} FROM noetl.subscription
     WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR path = $2) ORDER BY subscription_id`,
    [filter.state, filter.path],
  );
  return result.rows.map(recordOf);
}

/** Another subscription of the same path is alive. */
export function isPathTaken(error: unknown): boolean {
  return isUniqueViolation(error) && error.constraint === 'subscription_live_path';
}

/** Somebody else has written to the log in the meantime. */
export function isHeadMoved(error: unknown): boolean {
  return isUniqueViolation(error) && error.table?.startsWith('event') === true;
}

function isUniqueViolation(error: unknown): error is Error & Pick<pg.DatabaseError, 'constraint' | 'table'> {
  return error instanceof Error && (error as { code?: unknown }).code === '23505';
}
