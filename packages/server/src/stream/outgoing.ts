// Events in the order in which they leave, an order that never changes behind a reader: by transaction, then by execution and version. An event is read only
// when its transaction and every older one have ended, so what commits late is never passed over (test/stream/straggler.test.ts).
import type { Id } from '@noetl/core';
import type pg from 'pg';

/** Everything up to here has been read. As text: `<transaction>/<execution>/<version>`. */
export type Position = string & { readonly __brand: 'Position' };

export const ORIGIN = '0/0/0' as Position;

interface Place {
  readonly tx: string;
  readonly execution: string;
  readonly version: string;
}

export function positionOf({ tx, execution, version }: Place): Position {
  return `${tx}/${execution}/${version}` as Position;
}

export function parsePosition(text: string): Place {
  const [, tx, execution, version] = /^(\d+)\/(\d+)\/(\d+)$/.exec(text) ?? [];
  if (tx === undefined || execution === undefined || version === undefined)
    throw new Error(`the cursor '${text}' is no position; docs/event-stream.md says what to do`);
  return { tx, execution, version };
}

/** An event on its way out. JSON columns are text still: most of them leave as they came. */
export interface OutgoingEvent {
  readonly position: Position;
  readonly executionId: Id;
  readonly eventId: Id;
  readonly type: string;
  readonly bytes: number;
  /** Every other column, as the text of a JSON object. */
  readonly head: string;
  /** Absent when the event is larger than `maxBytes`: then it does not even leave the database. */
  readonly parts: EventParts | undefined;
}

export interface EventParts {
  readonly context: string | null;
  readonly result: string | null;
  readonly meta: string | null;
  readonly error: string | null;
}

interface OutgoingRow extends EventParts {
  readonly tx: string;
  readonly execution_id: Id;
  readonly version: string;
  readonly event_id: Id;
  readonly event_type: string;
  readonly bytes: number;
  readonly head: string;
  readonly whole: boolean;
}

/** A read brings no more than this, however many events it may hold. */
const READ_BYTES = 16 * 1024 * 1024;

const COLUMNS = `
  e.tx_id, e.execution_id, e.stream_version, e.event_id, e.event_type,
  e.context::text AS context, e.result::text AS result, e.meta::text AS meta, e.error,
  row_to_json((SELECT h FROM (SELECT e.execution_id, e.event_id, e.stream_version, e.tx_id, e.catalog_id, e.parent_event_id,
    e.parent_execution_id, e.event_type, e.node_id, e.node_name, e.node_type, e.status, e.command_id, e.worker_id, e.duration,
    e.tenant_id, e.organization_id, e.created_at, e.ingest_time) h))::text AS head`;

const SIZED = `
  SELECT r.*, coalesce(octet_length(context), 0) + coalesce(octet_length(result), 0) + coalesce(octet_length(meta), 0)
    + coalesce(octet_length(error), 0) + octet_length(head) AS bytes FROM rows r`;

/** The batch size is written into the statement: with a parameter the plan would have to guess it. */
export const readStatement = (batch: number) => `
WITH rows AS MATERIALIZED (
  SELECT ${COLUMNS} FROM noetl.event e
  WHERE (e.tx_id, e.execution_id, e.stream_version) > ($1::xid8, $2::bigint, $3::bigint)
    AND e.tx_id < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY e.tx_id, e.execution_id, e.stream_version LIMIT ${batch}
), sized AS (${SIZED}), summed AS (
  SELECT s.*, sum(least(bytes, $4)) OVER (ORDER BY tx_id, execution_id, stream_version ROWS UNBOUNDED PRECEDING)
    - least(bytes, $4) AS before FROM sized s)
SELECT tx_id::text AS tx, execution_id, stream_version::text AS version, event_id, event_type, bytes, head, bytes <= $4 AS whole,
  CASE WHEN bytes <= $4 THEN context END AS context, CASE WHEN bytes <= $4 THEN result END AS result,
  CASE WHEN bytes <= $4 THEN meta END AS meta, CASE WHEN bytes <= $4 THEN error END AS error
FROM summed WHERE before < ${READ_BYTES} ORDER BY tx_id, execution_id, stream_version`;

/** The next events after a position, oldest first; none while everything newer may still be overtaken. */
export async function readOutgoing(
  pool: pg.Pool,
  after: Position,
  { batch, maxBytes }: { batch: number; maxBytes: number },
): Promise<OutgoingEvent[]> {
  const { tx, execution, version } = parsePosition(after);
  // Not prepared: a plan that was made on empty tables would be kept when they are full, and would sort them for every read.
  const { rows } = await pool.query<OutgoingRow>(readStatement(batch), [tx, execution, version, maxBytes]);
  return rows.map(outgoingEvent);
}

const ONE = `
WITH rows AS (SELECT ${COLUMNS} FROM noetl.event e WHERE e.execution_id = $1 AND e.event_id = $2), sized AS (${SIZED})
SELECT tx_id::text AS tx, execution_id, stream_version::text AS version, event_id, event_type, bytes, head, true AS whole,
  context, result, meta, error FROM sized`;

/** One event, whatever its size. */
export async function findOutgoing(pool: pg.Pool, execution: Id, event: Id): Promise<OutgoingEvent | undefined> {
  const { rows } = await pool.query<OutgoingRow>(ONE, [execution, event]);
  return rows[0] === undefined ? undefined : outgoingEvent(rows[0]);
}

function outgoingEvent(row: OutgoingRow): OutgoingEvent {
  return {
    position: positionOf({ tx: row.tx, execution: row.execution_id, version: row.version }),
    executionId: row.execution_id,
    eventId: row.event_id,
    type: row.event_type,
    bytes: row.bytes,
    head: row.head,
    parts: row.whole ? row : undefined,
  };
}

export interface Lag {
  readonly events: number;
  /** There are at least `events`; nobody counted further. */
  readonly more: boolean;
  /** Age of the oldest event that has not left. */
  readonly seconds: number;
}

const LAG = `
WITH waiting AS (
  SELECT ingest_time FROM noetl.event e WHERE (e.tx_id, e.execution_id, e.stream_version) > ($1::xid8, $2::bigint, $3::bigint)
  ORDER BY e.tx_id, e.execution_id, e.stream_version LIMIT $4)
SELECT count(*)::float8 AS events, greatest(0, coalesce(extract(epoch FROM clock_timestamp() - min(ingest_time)), 0))::float8 AS seconds
FROM waiting`;

/** What lies behind a position, whether or not it is safe to pass already. Counts no further than `limit`. */
export async function lagBehind(pool: pg.Pool, position: Position, limit: number): Promise<Lag> {
  const { tx, execution, version } = parsePosition(position);
  const { rows } = await pool.query<{ events: number; seconds: number }>(LAG, [tx, execution, version, limit]);
  const { events = 0, seconds = 0 } = rows[0] ?? {};
  return { events, more: events === limit, seconds };
}
