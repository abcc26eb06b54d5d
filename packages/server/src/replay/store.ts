// SQL of replay: the log in the order it is folded, and stored states. Rows come as text where the spelling of a number matters.
import { type Id, parseExactJson, type ReplayEvent, type StoredReplayState } from '@noetl/core';
import type pg from 'pg';
import type { Cutoff } from './request.js';

export type Queryable = pg.Pool | pg.PoolClient;

export interface ReplayRow {
  readonly event: ReplayEvent;
  readonly version: number;
}

type RowValues = [
  event_id: string,
  event_type: string,
  node_name: string | null,
  status: string | null,
  command_id: string | null,
  worker_id: string | null,
  meta: string | null,
  reference: string | null,
  version: number,
];

/** Events after an event id, in the order of their ids. Of a result the fold wants the reference only, so only that is read. */
export async function readReplayRows(
  db: Queryable,
  id: Id,
  after: Id,
  cutoff: Cutoff,
  limit: number,
): Promise<ReplayRow[]> {
  const result = await db.query<RowValues>({
    rowMode: 'array',
    name: `replay-${cutoff.type}`,
    text: `SELECT event_id, event_type, node_name, status, command_id, worker_id, meta::text, (result -> 'reference')::text, stream_version::float8
      FROM noetl.event WHERE execution_id = $1 AND event_id > $2 ${ADMITTED[cutoff.type]} ORDER BY event_id LIMIT $3`,
    values: [id, after, limit, ...cutoffValue(cutoff)],
  });
  return result.rows.map(rowOf);
}

const ADMITTED = {
  end: '',
  event: 'AND event_id <= $4',
  time: 'AND created_at <= $4::timestamptz',
} as const satisfies Record<Cutoff['type'], string>;

function cutoffValue(cutoff: Cutoff): string[] {
  switch (cutoff.type) {
    case 'end':
      return [];
    case 'event':
      return [cutoff.eventId];
    case 'time':
      return [cutoff.time];
  }
}

function rowOf(values: RowValues): ReplayRow {
  const [event_id, event_type, node_name, status, command_id, worker_id, meta, reference, version] = values;
  return {
    version,
    event: {
      event_id: event_id as Id,
      event_type,
      node_name,
      status,
      command_id,
      worker_id,
      meta: meta === null ? null : parseExactJson(meta),
      result: reference === null ? null : { reference: parseExactJson(reference) },
    },
  };
}

export interface StoredRung {
  readonly rung: number;
  readonly stored: StoredReplayState;
  readonly eventCount: number;
}

export interface RungQuery {
  readonly aggregateId: string;
  readonly aggregateType: string;
  readonly cutoff: Cutoff;
  /** A state of more events than this is of no use. */
  readonly maxEvents: number;
}

interface RungRow {
  readonly aggregate_id: string;
  readonly version: Id;
  readonly snapshot: string;
  readonly checksum: string;
  readonly meta: string;
  readonly event_count: number;
}

const RUNG = `SELECT aggregate_id, version, snapshot #>> '{}' AS snapshot, checksum, meta::text AS meta,
    (meta ->> 'event_count')::float8 AS event_count
  FROM noetl.projection_snapshot
  WHERE tenant_id = 'default' AND organization_id = 'default' AND aggregate_type = $1
    AND aggregate_id = ANY ($2)`;

/** More than a log can climb: the last one begins at 10,000 times 2^32 events. */
const RUNGS = Array.from({ length: 33 }, (_, rung) => rung);
const rungIds = (aggregateId: string): string[] => RUNGS.map((rung) => `${aggregateId}/${rung}`);

/** The newest stored state that ends at or before the cutoff. */
export async function newestRung(db: Queryable, query: RungQuery): Promise<StoredRung | undefined> {
  const { aggregateId, aggregateType, cutoff, maxEvents } = query;
  const result = await db.query<RungRow>(
    `${RUNG} AND (meta ->> 'event_count')::float8 <= $3 AND ($4::bigint IS NULL OR version <= $4)
       AND ($5::timestamptz IS NULL OR (meta ->> 'newest')::timestamptz <= $5)
     ORDER BY version DESC LIMIT 1`,
    [
      aggregateType,
      rungIds(aggregateId),
      Math.min(maxEvents, Number.MAX_SAFE_INTEGER),
      cutoff.type === 'event' ? cutoff.eventId : null,
      cutoff.type === 'time' ? cutoff.time : null,
    ],
  );
  return result.rows.map((row) => rungOf(aggregateId, aggregateType, row))[0];
}

export async function readAllRungs(db: Queryable, aggregateId: string, aggregateType: string): Promise<StoredRung[]> {
  const result = await db.query<RungRow>(`${RUNG} ORDER BY version`, [aggregateType, rungIds(aggregateId)]);
  return result.rows.map((row) => rungOf(aggregateId, aggregateType, row));
}

/** The rung is part of the key of the row, and no business of the state that stands on it. */
function rungOf(aggregateId: string, aggregateType: string, row: RungRow): StoredRung {
  return {
    rung: Number(row.aggregate_id.slice(aggregateId.length + 1)),
    eventCount: row.event_count,
    stored: {
      aggregate_id: aggregateId,
      aggregate_type: aggregateType,
      version: row.version,
      snapshot: row.snapshot,
      checksum: row.checksum,
      meta: parseExactJson(row.meta),
    },
  };
}

/** Never goes back: of two that race, the one that has seen more stays. */
export async function writeRung(
  db: Queryable,
  rung: number,
  state: StoredReplayState,
  newest: string,
): Promise<boolean> {
  const meta = state.meta as { fold_version: number; event_count: number };
  const result = await db.query(
    `INSERT INTO noetl.projection_snapshot AS s (aggregate_id, aggregate_type, version, snapshot, checksum, meta)
     VALUES ($1, $2, $3, to_jsonb($4::text), $5, jsonb_build_object('fold_version', $6::int, 'event_count', $7::bigint, 'newest', $8::text))
     ON CONFLICT (tenant_id, organization_id, aggregate_type, aggregate_id) DO UPDATE SET
       version = EXCLUDED.version, snapshot = EXCLUDED.snapshot, checksum = EXCLUDED.checksum, meta = EXCLUDED.meta, updated_at = now()
     WHERE s.version < EXCLUDED.version`,
    [
      `${state.aggregate_id}/${rung}`,
      state.aggregate_type,
      state.version,
      state.snapshot,
      state.checksum,
      meta.fold_version,
      meta.event_count,
      newest,
    ],
  );
  return result.rowCount === 1;
}

export async function deleteRung(
  db: Queryable,
  aggregateId: string,
  aggregateType: string,
  rung: number,
): Promise<void> {
  await db.query(
    `DELETE FROM noetl.projection_snapshot
     WHERE tenant_id = 'default' AND organization_id = 'default' AND aggregate_type = $1 AND aggregate_id = $2`,
    [aggregateType, `${aggregateId}/${rung}`],
  );
}

/** True when an event came into the log after the first `events` ones with an id that sorts among them. */
export async function hasStraggler(db: Queryable, id: Id, events: number, lastEventId: Id): Promise<boolean> {
  const result = await db.query<{ found: boolean }>(
    // In the order of versions: the other index would walk everything that is in the stored state.
    `SELECT EXISTS (SELECT 1 FROM (
       SELECT event_id FROM noetl.event WHERE execution_id = $1 AND stream_version > $2 ORDER BY stream_version OFFSET 0) AS later
     WHERE event_id <= $3) AS found`,
    [id, events, lastEventId],
  );
  return result.rows[0]?.found === true;
}

/** The latest time among the events of a range of versions; null when there is none. */
export async function newestTime(db: Queryable, id: Id, from: number, to: number): Promise<string | null> {
  const result = await db.query<{ newest: string | null }>(
    'SELECT max(created_at) AS newest FROM noetl.event WHERE execution_id = $1 AND stream_version BETWEEN $2 AND $3',
    [id, from, to],
  );
  return result.rows[0]?.newest ?? null;
}
