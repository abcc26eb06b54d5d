// Where the tailer of a shard stands, in the shard's own database, beside the lease of its leader. Every write carries the leader's fencing
// token: whoever has lost the lead cannot move the cursor any more.
import { stringifyJson } from '@noetl/core';
import type pg from 'pg';
import { ORIGIN, type Position, parsePosition } from './outgoing.js';

/** Name of the cursor and of the leader lease; each shard's database has its own. */
export const TAILER = 'event_stream_tailer';

/** Where the cursor stood at some time. */
export interface Milestone {
  readonly at: string;
  readonly position: Position;
}

export interface Cursor {
  readonly position: Position;
  /** Where the very first start began. */
  readonly floor: Position;
  /** Newest event that has left; undefined before the first. */
  readonly eventId: string | undefined;
  /** Which stream the position is about, by the time of its creation; undefined before the first. */
  readonly stream: string | undefined;
  /** Highest number that the stream has given to a message of ours. */
  readonly sequence: number;
  /** Oldest first. */
  readonly history: readonly Milestone[];
}

interface CursorRow {
  readonly position: Position;
  readonly floor: Position;
  readonly event_id: string | null;
  readonly stream_created: string | null;
  readonly stream_sequence: number;
  readonly history: Milestone[];
}

// "Now" is the oldest transaction that is still open: what it writes is still to come.
const CREATE = `
INSERT INTO noetl.stream_cursor (name, position, floor)
SELECT $1, p, p FROM (SELECT CASE WHEN $2::boolean THEN '${ORIGIN}' ELSE pg_snapshot_xmin(pg_current_snapshot())::text || '/0/0' END) AS s(p)
ON CONFLICT (name) DO NOTHING`;

/** Decides, once and for ever, where the stream begins: with the oldest event, or now. */
export async function createCursor(pool: pg.Pool, backfill: boolean): Promise<void> {
  await pool.query(CREATE, [TAILER, backfill]);
}

const TAKE = `
UPDATE noetl.stream_cursor SET fencing_token = $2 WHERE name = $1 AND fencing_token <= $2
RETURNING position, coalesce(floor, position) AS floor, event_id, stream_created, stream_sequence::float8 AS stream_sequence, history`;

/** Makes the cursor the new leader's; undefined when a newer leader has it. */
export async function takeCursor(pool: pg.Pool, token: string): Promise<Cursor | undefined> {
  const { rows } = await pool.query<CursorRow>(TAKE, [TAILER, token]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { position, floor, event_id, stream_created, stream_sequence: sequence, history } = row;
  if (position.startsWith(FOREIGN) || (await isForeign(pool, position))) {
    await pool.query(SPOIL, [TAILER, token, FOREIGN]);
    throw new Error(`the cursor '${position}' is from another database cluster; docs/event-stream.md says what to do`);
  }
  return { position, floor, eventId: event_id ?? undefined, stream: stream_created ?? undefined, sequence, history };
}

/**
 * Transaction numbers belong to one PostgreSQL cluster. In a database that was dumped and restored elsewhere they start low again: new events
 * would sort before the cursor and never leave. Such a cursor is spoiled on purpose, because once the numbers have grown past it nobody could
 * tell any more.
 */
const FOREIGN = 'foreign:';
const SPOIL = `
UPDATE noetl.stream_cursor SET position = $3 || position WHERE name = $1 AND fencing_token = $2 AND NOT starts_with(position, $3)`;

async function isForeign(pool: pg.Pool, position: Position): Promise<boolean> {
  const { rows } = await pool.query<{ ahead: boolean }>(
    'SELECT $1::xid8 > pg_snapshot_xmin(pg_current_snapshot()) AS ahead',
    [parsePosition(position).tx],
  );
  return rows[0]?.ahead === true;
}

const SAVE = `
UPDATE noetl.stream_cursor SET position = $3, event_id = $4, stream_created = $5, stream_sequence = $6, history = $7::jsonb,
  last_error = NULL, last_error_at = NULL, updated_at = now()
WHERE name = $1 AND fencing_token = $2`;

/** False when a newer leader has the cursor. */
export async function saveCursor(pool: pg.Pool, token: string, cursor: Cursor): Promise<boolean> {
  const { position, eventId = null, stream = null, sequence, history } = cursor;
  const values = [TAILER, token, position, eventId, stream, sequence, stringifyJson(history)];
  return (await pool.query(SAVE, values)).rowCount === 1;
}

/** Keeps what the operator should know where every server can read it. */
export async function saveFailure(pool: pg.Pool, token: string, message: string): Promise<void> {
  await pool.query(
    `UPDATE noetl.stream_cursor SET last_error = $3, last_error_at = now() WHERE name = $1 AND fencing_token <= $2`,
    [TAILER, token, message.slice(0, 2_000)],
  );
}

const MILESTONES = 48;

/** Notes where the cursor is when the newest milestone is old enough; forgets those that are no longer needed. */
export function withMilestone(cursor: Cursor, retentionMs: number, now: Date): Cursor {
  const { history, position } = cursor;
  const age = (milestone: Milestone) => now.getTime() - Date.parse(milestone.at);
  const newest = history.at(-1);
  // A stream that keeps everything is filled from the floor.
  if (retentionMs === 0 || (newest !== undefined && age(newest) < retentionMs / MILESTONES)) return cursor;
  // The newest of those that are older than the retention is where to begin when the stream is lost: it stays.
  const start = history.findLastIndex((milestone) => age(milestone) >= retentionMs);
  return { ...cursor, history: [...history.slice(Math.max(0, start)), { at: now.toISOString(), position }] };
}

/**
 * The cursor as it is right for this stream. When it is another one than before, or has fewer messages than it once acknowledged (JetStream
 * acknowledges before the disk has it, and a power failure takes that back), messages are gone that nobody may have read yet: whatever the
 * stream would still hold is published again.
 */
export function forStream(
  cursor: Cursor,
  { created, lastSequence }: { readonly created: string; readonly lastSequence: number },
  retentionMs: number,
  now: Date,
): Cursor {
  const isLost = cursor.stream !== undefined && (cursor.stream !== created || lastSequence < cursor.sequence);
  if (!isLost) return { ...cursor, stream: created };
  const expired = (milestone: Milestone) => now.getTime() - Date.parse(milestone.at) >= retentionMs;
  const start = retentionMs === 0 ? undefined : cursor.history.findLast(expired);
  const begin =
    start === undefined ? { position: cursor.floor, history: [] } : { position: start.position, history: [start] };
  return { ...cursor, ...begin, stream: created, sequence: 0 };
}

export interface CursorStatus {
  readonly position: string;
  readonly event_id: string | null;
  readonly updated_at: string;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
}

export async function cursorStatus(pool: pg.Pool): Promise<CursorStatus | undefined> {
  const { rows } = await pool.query<CursorStatus>(
    'SELECT position, event_id, updated_at, last_error, last_error_at FROM noetl.stream_cursor WHERE name = $1',
    [TAILER],
  );
  return rows[0];
}
