// SQL that finds what the log says about a business object.
import type { EventRow, Id } from '@noetl/core';
import type pg from 'pg';

export interface ObjectEvent
  extends Pick<EventRow, 'execution_id' | 'event_id' | 'event_type' | 'node_name' | 'status' | 'meta' | 'created_at'> {
  /** As it is in the database: numbers keep their digits. */
  readonly meta_text: string;
}

/** Oldest first. */
export async function objectEvents(
  pool: pg.Pool,
  object: { type: string; id: string; after: Id; limit: number },
): Promise<ObjectEvent[]> {
  const result = await pool.query<ObjectEvent>({
    name: 'object-events',
    text: `SELECT execution_id, event_id, event_type, node_name, status, meta, meta::text AS meta_text, created_at FROM noetl.event
           WHERE meta ? 'business_object' AND meta #>> '{business_object,object_type}' = $1
             AND meta #>> '{business_object,object_id}' = $2 AND event_id > $3
           ORDER BY event_id LIMIT $4`,
    values: [object.type, object.id, object.after, object.limit],
  });
  return result.rows;
}

export interface KnownObject {
  readonly object_id: string;
  readonly event_count: number;
  readonly last_event_id: Id;
}

/** Objects of a type, by id. */
export async function objectsOfType(pool: pg.Pool, type: string, after: string, limit: number): Promise<KnownObject[]> {
  const result = await pool.query<KnownObject>(
    `SELECT meta #>> '{business_object,object_id}' AS object_id, count(*)::int AS event_count, max(event_id) AS last_event_id
     FROM noetl.event
     WHERE meta ? 'business_object' AND meta #>> '{business_object,object_type}' = $1
       AND meta #>> '{business_object,object_id}' > $2
     GROUP BY 1 ORDER BY 1 LIMIT $3`,
    [type, after, limit],
  );
  return result.rows;
}
