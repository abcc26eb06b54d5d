// SQL of the log. One statement appends a whole batch: it locks the execution rows in id order, checks that each is still at the
// version the engine decided on, and writes events, read model and queue for those that are. What it does not return was stale.
// The rows to change are named twice, by the join and by a list of keys: the plan is made once, perhaps on empty tables, and the list
// keeps it from choosing to walk a whole index (store.test.ts looks at the plan).
import type { EventRow, Id, Json } from '@noetl/core';
import { stringifyJson, toStorableText } from '@noetl/core';
import type pg from 'pg';
import type { CommandInsert, CommandUpdate, ExecutionChange, MessageInsert } from './project.js';

/** Events travel as lists of values in this order: half the bytes of objects, and the database finds a value by its place. */
export const EVENT_COLUMNS = [
  ['execution_id', 'bigint'],
  ['event_id', 'bigint'],
  ['stream_version', 'bigint'],
  ['catalog_id', 'bigint'],
  ['parent_event_id', 'bigint'],
  ['parent_execution_id', 'bigint'],
  ['event_type', 'text'],
  ['node_id', 'text'],
  ['node_name', 'text'],
  ['node_type', 'text'],
  ['status', 'text'],
  ['command_id', 'text'],
  ['worker_id', 'text'],
  ['duration', 'double precision'],
  ['context', 'jsonb'],
  ['result', 'jsonb'],
  ['meta', 'jsonb'],
  ['error', 'text'],
  ['created_at', 'timestamptz'],
] as const satisfies readonly (readonly [keyof EventRow, string])[];

export const EVENT_FIELDS = EVENT_COLUMNS.map(([, type], index) => {
  if (type === 'jsonb') return `nullif(v -> ${index}, 'null'::jsonb)`;
  return type === 'text' ? `v ->> ${index}` : `(v ->> ${index})::${type}`;
}).join(', ');

function eventValues(row: EventRow): Json[] {
  return [
    row.execution_id,
    row.event_id,
    row.stream_version,
    row.catalog_id,
    row.parent_event_id,
    row.parent_execution_id,
    row.event_type,
    row.node_id,
    row.node_name,
    row.node_type,
    row.status,
    row.command_id,
    row.worker_id,
    row.duration,
    row.context,
    row.result,
    row.meta,
    row.error,
    row.created_at,
  ];
}

/** The worker itself ends what takes too long; the server steps in only when the worker does not. */
const GRACE_MS = 5_000;

export const APPEND = `
WITH x AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS x(
    execution_id bigint, is_new boolean, expected bigint, head bigint, catalog_id bigint, path text,
    parent_execution_id bigint, parent_event_id bigint, status text, last_event_id bigint, last_event_type text,
    last_node_name text, error text, start_time timestamptz, end_time timestamptz, pool text)
), locked AS MATERIALIZED (
  SELECT e.execution_id, e.head_version FROM noetl.execution e
  WHERE e.execution_id = ANY ($2::bigint[]) ORDER BY e.execution_id FOR UPDATE
), created AS (
  INSERT INTO noetl.execution (execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head_version,
    last_event_id, last_event_type, last_node_name, error, routing, start_time, end_time)
  SELECT execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head,
    last_event_id, last_event_type, last_node_name, error, jsonb_build_object('execution_pool', pool), start_time, end_time
  FROM x WHERE is_new
  ON CONFLICT (execution_id) DO NOTHING
  RETURNING execution_id
), ok AS MATERIALIZED (
  SELECT x.* FROM x JOIN locked l ON l.execution_id = x.execution_id AND l.head_version = x.expected AND NOT x.is_new
  UNION ALL
  SELECT x.* FROM x JOIN created c ON c.execution_id = x.execution_id
), moved AS (
  UPDATE noetl.execution e SET
    status = ok.status, head_version = ok.head, last_event_id = ok.last_event_id, last_event_type = ok.last_event_type,
    last_node_name = coalesce(ok.last_node_name, e.last_node_name), error = ok.error, end_time = ok.end_time, updated_at = now()
  FROM ok WHERE e.execution_id = ok.execution_id AND e.execution_id = ANY ($2::bigint[]) AND NOT ok.is_new
), events AS (
  INSERT INTO noetl.event (${EVENT_COLUMNS.map(([name]) => name).join(', ')})
  SELECT ${EVENT_FIELDS} FROM jsonb_array_elements($3::jsonb) AS t(v)
  WHERE (v ->> 0)::bigint IN (SELECT execution_id FROM ok)
), issued AS (
  INSERT INTO noetl.command (command_id, event_id, execution_id, catalog_id, step_name, tool_kind, pool, status, attempt,
    max_attempts, worker_id, claim_token, lease_until, claimed_at, available_at, error, latest_event_id, started_at, completed_at,
    timeout_ms, due_at, resume_event_id)
  SELECT c.command_id, c.event_id, c.execution_id, c.catalog_id, c.step_name, c.tool_kind, c.pool, c.status, c.attempt,
    c.max_attempts, c.worker_id, c.claim_token,
    CASE WHEN c.leased THEN now() + $6 * interval '1 ms' END, CASE WHEN c.worker_id IS NOT NULL THEN now() END,
    now() + c.delay_ms * interval '1 ms', c.error, c.latest_event_id,
    CASE WHEN c.started THEN now() END, CASE WHEN c.finished THEN now() END, c.timeout_ms,
    CASE WHEN c.finished THEN NULL WHEN c.leased THEN now() + (c.timeout_ms + ${GRACE_MS}) * interval '1 ms' ELSE c.due_at END, c.resume_event_id
  FROM jsonb_to_recordset($4::jsonb) AS c(
    command_id text, event_id bigint, execution_id bigint, catalog_id bigint, step_name text, tool_kind text, pool text,
    status text, attempt int, max_attempts int, worker_id text, claim_token bigint, leased boolean, delay_ms int, error text,
    latest_event_id bigint, started boolean, finished boolean, timeout_ms bigint, due_at timestamptz,
    resume_event_id bigint)
  WHERE c.execution_id IN (SELECT execution_id FROM ok)
), changed AS (
  UPDATE noetl.command c SET
    status = coalesce(u.status, c.status), attempt = coalesce(u.attempt, c.attempt),
    worker_id = coalesce(u.worker_id, c.worker_id), claim_token = coalesce(u.claim_token, c.claim_token),
    lease_until = CASE WHEN u.leased THEN now() + $6 * interval '1 ms' WHEN u.leased = false THEN NULL ELSE c.lease_until END,
    claimed_at = CASE WHEN u.leased THEN now() ELSE c.claimed_at END,
    available_at = CASE WHEN u.delay_ms IS NULL THEN c.available_at ELSE now() + u.delay_ms * interval '1 ms' END,
    error = coalesce(u.error, c.error), latest_event_id = u.latest_event_id,
    resume_event_id = coalesce(u.resume_event_id, c.resume_event_id),
    started_at = CASE WHEN u.started THEN now() ELSE c.started_at END,
    completed_at = CASE WHEN u.finished THEN now() ELSE c.completed_at END, updated_at = now(),
    due_at = CASE WHEN u.leased THEN now() + (c.timeout_ms + ${GRACE_MS}) * interval '1 ms'
      WHEN u.leased = false OR u.finished THEN NULL ELSE c.due_at END
  FROM jsonb_to_recordset($5::jsonb) AS u(
    event_id bigint, execution_id bigint, status text, attempt int, worker_id text, claim_token bigint, leased boolean,
    delay_ms int, error text, latest_event_id bigint, started boolean, finished boolean, resume_event_id bigint)
  WHERE c.event_id = u.event_id AND c.event_id = ANY ($7::bigint[]) AND u.execution_id IN (SELECT execution_id FROM ok)
), posted AS (
  INSERT INTO noetl.message (message_id, sender_id, target_id, body)
  SELECT m.message_id, m.sender_id, m.target_id, m.body
  FROM jsonb_to_recordset($8::jsonb) AS m(message_id bigint, sender_id bigint, target_id bigint, body jsonb)
  WHERE m.sender_id IN (SELECT execution_id FROM ok)
), told AS (
  INSERT INTO noetl.outbox (topic, subject, msg_id, ordering_key, execution_id, event_id, payload, headers, available_at)
  SELECT t.topic, t.subject, t.msg_id, t.ordering_key, t.execution_id, t.event_id, t.payload, t.headers,
    now() + t.delay_ms * interval '1 ms'
  FROM jsonb_to_recordset($9::jsonb) AS t(topic text, subject text, msg_id text, ordering_key text, execution_id bigint,
    event_id bigint, payload jsonb, headers jsonb, delay_ms bigint)
  WHERE t.execution_id IN (SELECT execution_id FROM ok)
  ON CONFLICT (msg_id) DO NOTHING
)
SELECT execution_id FROM ok`;

export interface Batch {
  readonly executions: readonly ExecutionChange[];
  readonly events: readonly EventRow[];
  readonly inserts: readonly CommandInsert[];
  readonly updates: readonly CommandUpdate[];
  readonly messages: readonly MessageInsert[];
  /** Rows of the outbox, whose columns they name (outbox/model.ts). */
  readonly outbox: readonly object[];
  readonly leaseMs: number;
}

/** The executions that were written; the rest had moved on. */
export async function append(pool: pg.Pool, batch: Batch): Promise<Set<Id>> {
  const known = batch.executions.filter((change) => !change.is_new).map((change) => change.execution_id);
  const result = await pool.query<{ execution_id: Id }>({
    name: 'append',
    text: APPEND,
    values: [
      json(batch.executions),
      known,
      json(batch.events.map(eventValues)),
      json(batch.inserts),
      json(batch.updates),
      batch.leaseMs,
      batch.updates.map((update) => update.event_id),
      json(batch.messages),
      json(batch.outbox),
    ],
  });
  return new Set(result.rows.map((row) => row.execution_id));
}

const SELECTED = `execution_id, event_id, stream_version::float8 AS stream_version, catalog_id, parent_event_id, parent_execution_id,
  event_type, node_id, node_name, node_type, status, command_id, worker_id, duration, context, result, meta, error, created_at`;

/** Events of one execution after a version, oldest first. */
export async function readEvents(
  pool: pg.Pool | pg.PoolClient,
  id: Id,
  after: number,
  limit: number,
): Promise<EventRow[]> {
  const result = await pool.query<EventRow>({
    name: 'read-events',
    text: `SELECT ${SELECTED} FROM noetl.event WHERE execution_id = $1 AND stream_version > $2 ORDER BY stream_version LIMIT $3`,
    values: [id, after, limit],
  });
  return result.rows;
}

export interface EventQuery {
  readonly sinceEventId: Id | null;
  readonly eventType: string | null;
  readonly newestFirst: boolean;
  readonly limit: number;
  readonly offset: number;
}

/** A page of one execution's events, and how many there are. */
export async function eventPage(
  pool: pg.Pool,
  id: Id,
  query: EventQuery,
): Promise<{ events: EventRow[]; total: number }> {
  const where = `execution_id = $1 AND ($2::bigint IS NULL OR event_id > $2) AND ($3::text IS NULL OR event_type = $3)`;
  const [events, total] = await Promise.all([
    pool.query<EventRow>(
      `SELECT ${SELECTED} FROM noetl.event WHERE ${where}
       ORDER BY stream_version ${query.newestFirst ? 'DESC' : 'ASC'} LIMIT $4 OFFSET $5`,
      [id, query.sinceEventId, query.eventType, query.limit, query.offset],
    ),
    pool.query<{ total: number }>(`SELECT count(*)::float8 AS total FROM noetl.event WHERE ${where}`, [
      id,
      query.sinceEventId,
      query.eventType,
    ]),
  ]);
  return { events: events.rows, total: total.rows[0]?.total ?? 0 };
}

/** Events of several executions, each after its own version, oldest first within each. */
export async function readEventsOfMany(
  pool: pg.Pool,
  after: ReadonlyMap<Id, number>,
  limit: number,
): Promise<EventRow[]> {
  const result = await pool.query<EventRow>({
    name: 'read-events-of-many',
    text: `SELECT ${SELECTED.replaceAll(/(^|,\s*)(\w+)/g, '$1e.$2')} FROM unnest($1::bigint[], $2::bigint[]) AS i(id, version)
           JOIN noetl.event e ON e.execution_id = i.id AND e.stream_version > i.version
           ORDER BY e.execution_id, e.stream_version LIMIT $3`,
    values: [[...after.keys()], [...after.values()], limit],
  });
  return result.rows;
}

export async function headVersions(pool: pg.Pool, ids: readonly Id[]): Promise<Map<Id, number>> {
  const result = await pool.query<{ execution_id: Id; head_version: number }>({
    name: 'head-versions',
    text: 'SELECT execution_id, head_version::float8 AS head_version FROM noetl.execution WHERE execution_id = ANY ($1::bigint[])',
    values: [ids],
  });
  return new Map(result.rows.map((row) => [row.execution_id, row.head_version]));
}

/** Which of these ids are stored already. */
export async function storedEvents(pool: pg.Pool, ids: readonly { execution: Id; event: Id }[]): Promise<Set<string>> {
  const result = await pool.query<{ execution_id: Id; event_id: Id }>({
    name: 'stored-events',
    text: `SELECT e.execution_id, e.event_id FROM unnest($1::bigint[], $2::bigint[]) AS i(execution_id, event_id)
           JOIN noetl.event e ON e.execution_id = i.execution_id AND e.event_id = i.event_id`,
    values: [ids.map((id) => id.execution), ids.map((id) => id.event)],
  });
  return new Set(result.rows.map((row) => eventKey(row.execution_id, row.event_id)));
}

export function eventKey(execution: Id, event: Id): string {
  return `${execution}/${event}`;
}

export async function eventVersion(pool: pg.Pool, execution: Id, event: Id): Promise<number | undefined> {
  const result = await pool.query<{ stream_version: number }>(
    'SELECT stream_version::float8 AS stream_version FROM noetl.event WHERE execution_id = $1 AND event_id = $2',
    [execution, event],
  );
  return result.rows[0]?.stream_version;
}

function json(rows: readonly object[]): string {
  return toStorableText(stringifyJson(rows as unknown as Json));
}

/** Those that were imported as archives (replay/import.ts). */
export async function archivesAmong(pool: pg.Pool, ids: readonly Id[]): Promise<Set<Id>> {
  const result = await pool.query<{ execution_id: Id }>({
    name: 'archives-among',
    text: `SELECT execution_id FROM noetl.execution WHERE execution_id = ANY ($1::bigint[]) AND routing ? 'archive'`,
    values: [ids],
  });
  return new Set(result.rows.map((row) => row.execution_id));
}
