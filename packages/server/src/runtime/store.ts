// SQL of `noetl.runtime`: the processes that serve this installation and when they were last heard of.
import type { Id, Json } from '@noetl/core';
import { stringifyJson, toStorableText } from '@noetl/core';
import type pg from 'pg';

export interface RuntimeRow {
  readonly runtime_id: Id;
  readonly name: string;
  readonly kind: string;
  readonly uri: string | null;
  readonly status: string;
  readonly labels: Json;
  readonly capabilities: Json;
  readonly capacity: number | null;
  readonly in_flight: number | null;
  readonly runtime: Json;
  readonly heartbeat: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const COLUMNS = `runtime_id, name, kind, uri, status, labels, capabilities, capacity, in_flight, runtime, heartbeat, created_at, updated_at`;

export type Registration = Pick<
  RuntimeRow,
  'runtime_id' | 'name' | 'kind' | 'uri' | 'status' | 'labels' | 'capabilities' | 'capacity' | 'runtime'
>;

export async function upsertRuntime(pool: pg.Pool, row: Registration): Promise<RuntimeRow> {
  const json = (value: Json) => (value === null ? null : toStorableText(stringifyJson(value)));
  const result = await pool.query<RuntimeRow>(
    `INSERT INTO noetl.runtime (runtime_id, name, kind, uri, status, labels, capabilities, capacity, runtime)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (kind, name) DO UPDATE SET uri = EXCLUDED.uri, status = EXCLUDED.status, labels = EXCLUDED.labels,
       capabilities = EXCLUDED.capabilities, capacity = EXCLUDED.capacity, runtime = EXCLUDED.runtime, heartbeat = now(), updated_at = now()
     RETURNING ${COLUMNS}`,
    [
      row.runtime_id,
      row.name,
      row.kind,
      row.uri,
      row.status,
      json(row.labels),
      json(row.capabilities),
      row.capacity,
      json(row.runtime),
    ],
  );
  const [stored] = result.rows;
  if (stored === undefined) throw new Error(`runtime ${row.kind} ${row.name} was not stored`);
  return stored;
}

export async function beat(
  pool: pg.Pool,
  beatOf: { kind: string; name: string; status: string | null; inFlight: number | null; capacity: number | null },
): Promise<boolean> {
  const result = await pool.query(
    `UPDATE noetl.runtime SET heartbeat = now(), updated_at = now(), in_flight = coalesce($4, in_flight), capacity = coalesce($5, capacity),
       status = coalesce($3, CASE WHEN status = 'offline' THEN 'ready' ELSE status END)
     WHERE kind = $1 AND name = $2`,
    [beatOf.kind, beatOf.name, beatOf.status, beatOf.inFlight, beatOf.capacity],
  );
  return result.rowCount === 1;
}

export async function removeRuntime(pool: pg.Pool, kind: string, name: string): Promise<boolean> {
  return (await pool.query('DELETE FROM noetl.runtime WHERE kind = $1 AND name = $2', [kind, name])).rowCount === 1;
}

export async function listRuntimes(
  pool: pg.Pool,
  filter: { kind: string; status: string | null; name: string | null },
): Promise<RuntimeRow[]> {
  const result = await pool.query<RuntimeRow>(
    `SELECT ${COLUMNS} FROM noetl.runtime
     WHERE kind = $1 AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR position($3 in name) > 0) ORDER BY kind, name`,
    [filter.kind, filter.status, filter.name],
  );
  return result.rows;
}

export async function markOffline(pool: pg.Pool, staleSeconds: number): Promise<number> {
  const result = await pool.query(
    `UPDATE noetl.runtime SET status = 'offline', updated_at = now()
     WHERE status <> 'offline' AND heartbeat < now() - $1 * interval '1 s'`,
    [staleSeconds],
  );
  return result.rowCount ?? 0;
}
