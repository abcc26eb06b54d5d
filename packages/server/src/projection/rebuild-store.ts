// SQL that compares and restores the rows that follow from the log.
import { type Id, type Json, STATE_FORMAT, stringifyJson, toStorableText } from '@noetl/core';
import type pg from 'pg';
import { type CommandInsert, type ExecutionChange, IS_INTACT, SNAPSHOT_TYPE } from '../log/index.js';

export interface StoredExecution {
  readonly catalog_id: Id;
  readonly path: string;
  readonly parent_execution_id: Id | null;
  readonly parent_event_id: Id | null;
  readonly status: string;
  readonly head_version: number;
  readonly last_event_id: Id | null;
  readonly last_event_type: string | null;
  readonly last_node_name: string | null;
  readonly error: string | null;
  readonly pool: string | null;
  readonly start_time: string;
  readonly end_time: string | null;
  /** Its log came from elsewhere (import.ts). */
  readonly imported: boolean;
}

export type StoredCommand = Pick<
  CommandInsert,
  | 'command_id'
  | 'event_id'
  | 'execution_id'
  | 'catalog_id'
  | 'step_name'
  | 'pool'
  | 'status'
  | 'attempt'
  | 'max_attempts'
  | 'worker_id'
  | 'claim_token'
  | 'error'
  | 'finished'
> & { readonly tool_kind: string | null; readonly latest_event_id: Id | null };

export interface StoredSnapshot {
  readonly snapshot: Json;
  readonly intact: boolean;
  readonly stream_version: number | null;
}

/** Ids of everything that has a log or an execution row, in order. */
export async function logIds(pool: pg.Pool, after: Id, limit: number): Promise<Id[]> {
  const result = await pool.query<{ execution_id: Id }>(
    `(SELECT DISTINCT execution_id FROM noetl.event WHERE execution_id > $1 ORDER BY execution_id LIMIT $2)
     UNION (SELECT execution_id FROM noetl.execution WHERE execution_id > $1 ORDER BY execution_id LIMIT $2)
     ORDER BY execution_id LIMIT $2`,
    [after, limit],
  );
  return result.rows.map((row) => row.execution_id);
}

/** @param lock keep appends to this execution waiting until the transaction ends */
export async function storedExecution(
  client: pg.PoolClient,
  id: Id,
  lock: boolean,
): Promise<StoredExecution | undefined> {
  const result = await client.query<StoredExecution>(
    `SELECT catalog_id, path, parent_execution_id, parent_event_id, status, head_version::float8 AS head_version, last_event_id,
       last_event_type, last_node_name, error, routing ->> 'execution_pool' AS pool, start_time, end_time,
       coalesce(routing -> 'imported' = 'true', false) AS imported
     FROM noetl.execution WHERE execution_id = $1 ${lock ? 'FOR UPDATE' : ''}`,
    [id],
  );
  return result.rows[0];
}

export async function storedCommands(client: pg.PoolClient, eventIds: readonly Id[]): Promise<Map<Id, StoredCommand>> {
  const result = await client.query<StoredCommand>(
    `SELECT command_id, event_id, execution_id, catalog_id, step_name, tool_kind, pool, status, attempt, max_attempts, worker_id,
       claim_token::float8 AS claim_token, error, latest_event_id, completed_at IS NOT NULL AS finished
     FROM noetl.command WHERE event_id = ANY ($1::bigint[])`,
    [eventIds],
  );
  return new Map(result.rows.map((row) => [row.event_id, row]));
}

/** One of another format than ours is not used by anybody, and says nothing that could be compared. */
export async function storedSnapshot(client: pg.PoolClient, id: Id): Promise<StoredSnapshot | undefined> {
  const result = await client.query<StoredSnapshot>(
    `SELECT snapshot, ${IS_INTACT} AS intact, (meta ->> 'stream_version')::float8 AS stream_version FROM noetl.projection_snapshot
     WHERE aggregate_type = $1 AND aggregate_id = $2 AND (meta ->> 'format')::int = $3`,
    [SNAPSHOT_TYPE, id, STATE_FORMAT],
  );
  return result.rows[0];
}

/** Commands that no event has issued. */
export async function orphanedCommands(
  pool: pg.Pool,
  limit: number,
): Promise<{ execution_id: Id; event_id: Id; command_id: string; status: string }[]> {
  const result = await pool.query<{ execution_id: Id; event_id: Id; command_id: string; status: string }>(
    `SELECT execution_id, event_id, command_id, status FROM noetl.command c
     WHERE NOT EXISTS (SELECT 1 FROM noetl.event e WHERE e.execution_id = c.execution_id AND e.event_id = c.event_id) LIMIT $1`,
    [limit],
  );
  return result.rows;
}

export async function deleteCommands(pool: pg.Pool, eventIds: readonly Id[]): Promise<void> {
  await pool.query('DELETE FROM noetl.command WHERE event_id = ANY ($1::bigint[])', [eventIds]);
}

export async function deleteSnapshot(client: pg.PoolClient, id: Id): Promise<void> {
  await client.query('DELETE FROM noetl.projection_snapshot WHERE aggregate_type = $1 AND aggregate_id = $2', [
    SNAPSHOT_TYPE,
    id,
  ]);
}

export async function writeExecution(client: pg.PoolClient, row: ExecutionChange): Promise<void> {
  await client.query(
    `INSERT INTO noetl.execution AS e (execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head_version,
       last_event_id, last_event_type, last_node_name, error, routing, start_time, end_time)
     SELECT execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head, last_event_id, last_event_type,
       last_node_name, error, jsonb_build_object('execution_pool', pool), start_time, end_time
     FROM jsonb_to_record($1::jsonb) AS x(execution_id bigint, head bigint, catalog_id bigint, path text, parent_execution_id bigint,
       parent_event_id bigint, status text, last_event_id bigint, last_event_type text, last_node_name text, error text,
       start_time timestamptz, end_time timestamptz, pool text)
     ON CONFLICT (execution_id) DO UPDATE SET catalog_id = EXCLUDED.catalog_id, path = EXCLUDED.path,
       parent_execution_id = EXCLUDED.parent_execution_id, parent_event_id = EXCLUDED.parent_event_id, status = EXCLUDED.status,
       head_version = EXCLUDED.head_version, last_event_id = EXCLUDED.last_event_id, last_event_type = EXCLUDED.last_event_type,
       last_node_name = EXCLUDED.last_node_name, error = EXCLUDED.error, routing = e.routing || EXCLUDED.routing,
       start_time = EXCLUDED.start_time, end_time = EXCLUDED.end_time, updated_at = now()`,
    [json(row)],
  );
}

/** From now on our engine drives it, and its commands are in our queue. */
export async function adoptExecution(client: pg.PoolClient, id: Id): Promise<void> {
  await client.query(
    `UPDATE noetl.execution SET routing = routing - 'imported' - 'archive', updated_at = now() WHERE execution_id = $1`,
    [id],
  );
}

/** A claimed command comes back without a lease: the sweeper takes it away from whoever had it and issues it again. */
export async function writeCommands(client: pg.PoolClient, rows: readonly CommandInsert[]): Promise<void> {
  await client.query(
    `INSERT INTO noetl.command AS c (command_id, event_id, execution_id, catalog_id, step_name, tool_kind, pool, status, attempt, max_attempts,
       worker_id, claim_token, error, latest_event_id, completed_at, timeout_ms, due_at, resume_event_id)
     SELECT command_id, event_id, execution_id, catalog_id, step_name, tool_kind, pool, status, attempt, max_attempts, worker_id, claim_token,
       error, latest_event_id, CASE WHEN finished THEN now() END, timeout_ms, CASE WHEN NOT finished THEN due_at END, resume_event_id
     FROM jsonb_to_recordset($1::jsonb) AS x(command_id text, event_id bigint, execution_id bigint, catalog_id bigint, step_name text,
       tool_kind text, pool text, status text, attempt int, max_attempts int, worker_id text, claim_token bigint, error text,
       latest_event_id bigint, finished boolean, timeout_ms bigint, due_at timestamptz, resume_event_id bigint)
     ON CONFLICT (event_id) DO UPDATE SET command_id = EXCLUDED.command_id, execution_id = EXCLUDED.execution_id,
       catalog_id = EXCLUDED.catalog_id, step_name = EXCLUDED.step_name, tool_kind = EXCLUDED.tool_kind, pool = EXCLUDED.pool,
       status = EXCLUDED.status, attempt = EXCLUDED.attempt, max_attempts = EXCLUDED.max_attempts, worker_id = EXCLUDED.worker_id,
       claim_token = EXCLUDED.claim_token, error = EXCLUDED.error, latest_event_id = EXCLUDED.latest_event_id,
       completed_at = CASE WHEN EXCLUDED.completed_at IS NULL THEN NULL ELSE coalesce(c.completed_at, EXCLUDED.completed_at) END,
       lease_until = CASE WHEN EXCLUDED.status IN ('CLAIMED', 'RUNNING') THEN c.lease_until END,
       timeout_ms = EXCLUDED.timeout_ms, due_at = EXCLUDED.due_at,
       resume_event_id = EXCLUDED.resume_event_id, updated_at = now()`,
    [json(rows)],
  );
}

function json(value: object): string {
  return toStorableText(stringifyJson(value));
}
