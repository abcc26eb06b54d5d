// SQL that finds a moment in a log.
import type { EventRow, Id, Moment } from '@noetl/core';
import type { Queryable } from './store.js';

/** Where a moment lies: after this many events, of which this is the last. */
export interface Place {
  readonly stream_version: number;
  readonly event_id: Id;
  readonly time: string;
}

const SELECT = `SELECT stream_version::float8 AS stream_version, event_id, created_at AS time FROM noetl.event WHERE execution_id = $1`;

/** Undefined: nothing had happened yet. An event id between two events means the one before. */
export async function placeOf(db: Queryable, id: Id, moment: Moment): Promise<Place | undefined> {
  switch (moment.type) {
    case 'end':
      return one(db, `${SELECT} ORDER BY stream_version DESC LIMIT 1`, [id]);
    case 'version':
      return one(db, `${SELECT} AND stream_version <= $2 ORDER BY stream_version DESC LIMIT 1`, [id, moment.version]);
    case 'event':
      return one(db, `${SELECT} AND event_id <= $2 ORDER BY event_id DESC LIMIT 1`, [id, moment.eventId]);
    case 'time':
      return one(db, `${SELECT} AND created_at <= $2::timestamptz ORDER BY stream_version DESC LIMIT 1`, [
        id,
        moment.time,
      ]);
  }
}

async function one(db: Queryable, text: string, values: unknown[]): Promise<Place | undefined> {
  return (await db.query<Place>(text, values)).rows[0];
}

export type EventLink = Pick<
  EventRow,
  'event_id' | 'stream_version' | 'event_type' | 'node_name' | 'status' | 'command_id' | 'created_at'
>;

const LINK = `event_id, stream_version::float8 AS stream_version, event_type, node_name, status, command_id, created_at`;

export async function linkByVersion(db: Queryable, id: Id, version: number): Promise<EventLink | null> {
  const found = await db.query<EventLink>(
    `SELECT ${LINK} FROM noetl.event WHERE execution_id = $1 AND stream_version = $2`,
    [id, version],
  );
  return found.rows[0] ?? null;
}

export async function linkById(db: Queryable, id: Id, eventId: Id): Promise<EventLink | null> {
  const found = await db.query<EventLink>(`SELECT ${LINK} FROM noetl.event WHERE execution_id = $1 AND event_id = $2`, [
    id,
    eventId,
  ]);
  return found.rows[0] ?? null;
}

/** What followed from an event: what names it as its cause, and what was reported about the command it issued. */
export async function linksFrom(
  db: Queryable,
  id: Id,
  event: Pick<EventRow, 'event_id' | 'stream_version' | 'event_type' | 'command_id'>,
  limit: number,
): Promise<EventLink[]> {
  const issued = event.event_type === 'command.issued' ? event.command_id : null;
  const found = await db.query<EventLink>(
    `SELECT ${LINK} FROM noetl.event WHERE execution_id = $1 AND stream_version > $2
       AND (parent_event_id = $3 OR (parent_event_id IS NULL AND command_id = $4)) ORDER BY stream_version LIMIT $5`,
    [id, event.stream_version, event.event_id, issued, limit],
  );
  return found.rows;
}
