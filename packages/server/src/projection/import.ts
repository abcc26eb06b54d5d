// Logs of executions that this control plane did not start: rows of a stream, stored as they came. The read model follows in the same
// transaction, so that an imported execution is listed and replayed like any other.
//
// What must stay true:
//   - the log stays gap-free: versions are given out under the lock of the execution row, like every append does, and before there is such a
//     row under an advisory lock of its own. One execution per transaction, so nothing can wait in a circle;
//   - an execution that our own engine drives is never written here (`driven`): its rows go through the append.
import { decode, type EventRow, type Id, type Json, stringifyJson, toStorableText } from '@noetl/core';
import type pg from 'pg';
import { readEvents } from '../log/index.js';
import type { ReceivedEvent } from './envelope.js';
import { type ExecutionSummary, foldSummary, startSummary } from './summary.js';

export type Imported =
  | { readonly type: 'driven' }
  /** Nothing is known of the execution, and its events do not say which playbook it runs. */
  | { readonly type: 'unknown' }
  | { readonly type: 'stored'; readonly stored: number };

interface Head extends ExecutionSummary {
  readonly imported: boolean;
}

export interface ImportOptions {
  /** What an event gets that does not name its catalog id; null: that of the events before it. */
  readonly catalogId: Id | null;
}

export async function importEvents(
  pool: pg.Pool,
  id: Id,
  events: readonly ReceivedEvent[],
  options: ImportOptions,
): Promise<Imported> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const imported = await importInto(client, id, events, options);
    await client.query(imported.type === 'stored' ? 'COMMIT' : 'ROLLBACK');
    return imported;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

async function importInto(
  client: pg.PoolClient,
  id: Id,
  events: readonly ReceivedEvent[],
  options: ImportOptions,
): Promise<Imported> {
  await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('noetl.import/' || $1, 0))`, [id]);
  const head = await lockExecution(client, id);
  if (head !== undefined && !isImporting(head)) return { type: 'driven' };
  const log = await lookAtLog(client, id, events);
  const fresh = firstOfEach(events).filter(({ event }) => !log.stored.has(event.event_id));
  const catalogId = options.catalogId ?? head?.catalog_id ?? log.catalogId;
  if (catalogId === null && fresh.some((received) => received.catalogId === null)) return { type: 'unknown' };
  if (fresh.length === 0) return { type: 'stored', stored: 0 };
  const rows = fresh.map(
    (received, index): EventRow => ({
      ...received.event,
      execution_id: id,
      stream_version: log.version + index + 1,
      catalog_id: received.catalogId ?? catalogId ?? ('0' as Id),
    }),
  );
  await insertEvents(client, rows, fresh);
  const before = head ?? (await foldBefore(client, id, rows, log.version));
  if (before !== undefined) await saveExecution(client, rows.reduce(foldSummary, before));
  return { type: 'stored', stored: rows.length };
}

/** An imported execution that has ended here is history: what still arrives for it must not move it again. */
function isImporting(head: Head): boolean {
  return head.imported && head.end_time === null;
}

/** A sender that repeats an event within one batch means it once. */
function firstOfEach(events: readonly ReceivedEvent[]): ReceivedEvent[] {
  const seen = new Map<Id, ReceivedEvent>();
  for (const received of events) if (!seen.has(received.event.event_id)) seen.set(received.event.event_id, received);
  return [...seen.values()];
}

async function lockExecution(client: pg.PoolClient, id: Id): Promise<Head | undefined> {
  const result = await client.query<Head>(
    `SELECT execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head_version::float8 AS head_version,
       last_event_id, last_event_type, last_node_name, error, routing ->> 'execution_pool' AS pool, start_time, end_time,
       coalesce(routing -> 'imported' = 'true', false) AS imported
     FROM noetl.execution WHERE execution_id = $1 FOR UPDATE`,
    [id],
  );
  return result.rows[0];
}

async function lookAtLog(
  client: pg.PoolClient,
  id: Id,
  events: readonly ReceivedEvent[],
): Promise<{ version: number; catalogId: Id | null; stored: Set<Id> }> {
  const last = await client.query<{ stream_version: number; catalog_id: Id }>(
    `SELECT stream_version::float8 AS stream_version, catalog_id FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version DESC LIMIT 1`,
    [id],
  );
  const stored = await client.query<{ event_id: Id }>(
    'SELECT event_id FROM noetl.event WHERE execution_id = $1 AND event_id = ANY ($2::bigint[])',
    [id, events.map(({ event }) => event.event_id)],
  );
  const [newest] = last.rows;
  return {
    version: newest?.stream_version ?? 0,
    catalogId: newest?.catalog_id ?? null,
    stored: new Set(stored.rows.map((row) => row.event_id)),
  };
}

async function insertEvents(
  client: pg.PoolClient,
  rows: readonly EventRow[],
  received: readonly ReceivedEvent[],
): Promise<void> {
  const items = rows.map((row, index) => ({
    ...row,
    tenant_id: received[index]?.tenantId,
    organization_id: received[index]?.organizationId,
  }));
  const columns = `execution_id, event_id, stream_version, catalog_id, parent_event_id, parent_execution_id, event_type, node_id, node_name,
    node_type, status, command_id, worker_id, duration, context, result, meta, error, created_at, tenant_id, organization_id`;
  await client.query(
    `INSERT INTO noetl.event (${columns}) SELECT ${columns} FROM jsonb_to_recordset($1::jsonb) AS e(
       execution_id bigint, event_id bigint, stream_version bigint, catalog_id bigint, parent_event_id bigint, parent_execution_id bigint,
       event_type text, node_id text, node_name text, node_type text, status text, command_id text, worker_id text,
       duration double precision, context jsonb, result jsonb, meta jsonb, error text, created_at timestamptz, tenant_id text,
       organization_id text)`,
    [toStorableText(stringifyJson(items as unknown as Json))],
  );
}

/**
 * The summary of what was stored before there was an execution row; undefined while no event says that an execution began. Logs of other
 * things (a subscription) never get a row.
 */
async function foldBefore(
  client: pg.PoolClient,
  id: Id,
  rows: readonly EventRow[],
  version: number,
): Promise<ExecutionSummary | undefined> {
  if (!rows.some((row) => decode(row)?.type === 'playbook_started')) return undefined;
  const earlier = version === 0 ? [] : await readEvents(client, id, 0, version);
  return earlier.reduce(foldSummary, startSummary(id));
}

async function saveExecution(client: pg.PoolClient, summary: ExecutionSummary): Promise<void> {
  await client.query(
    `INSERT INTO noetl.execution (execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head_version, last_event_id,
       last_event_type, last_node_name, error, routing, start_time, end_time)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, jsonb_build_object('execution_pool', $12::text, 'imported', true), $13, $14)
     ON CONFLICT (execution_id) DO UPDATE SET catalog_id = EXCLUDED.catalog_id, path = EXCLUDED.path,
       parent_execution_id = EXCLUDED.parent_execution_id, parent_event_id = EXCLUDED.parent_event_id, status = EXCLUDED.status,
       head_version = EXCLUDED.head_version, last_event_id = EXCLUDED.last_event_id, last_event_type = EXCLUDED.last_event_type,
       last_node_name = EXCLUDED.last_node_name, error = EXCLUDED.error, routing = EXCLUDED.routing, start_time = EXCLUDED.start_time,
       end_time = EXCLUDED.end_time, updated_at = now()`,
    [
      summary.execution_id,
      summary.catalog_id,
      summary.path,
      summary.parent_execution_id,
      summary.parent_event_id,
      summary.status,
      summary.head_version,
      summary.last_event_id,
      summary.last_event_type,
      summary.last_node_name,
      summary.error,
      summary.pool,
      summary.start_time,
      summary.end_time,
    ],
  );
}
