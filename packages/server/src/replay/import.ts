// A log that was exported elsewhere becomes history here: every event with the id, version and time it had, so that it replays to the same
// checksums. Nobody works for it: there are no command rows for the sweepers and the queue to find, and the append refuses to move an
// execution that is marked as an archive, however its log ends.
//
// What must stay true: all of a log or nothing of it; the same log again changes nothing; another log under the same id is refused.
import { type EventRow, type Id, stringifyJson } from '@noetl/core';
import type pg from 'pg';
import type { Catalog } from '../catalog/index.js';
import { ensurePartitionOf, type Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { type ExecutionSummary, foldSummary, startSummary } from '../projection/index.js';
import { type ArchiveHeader, DamagedArchive, readEventLine, readHeader } from './archive-format.js';
import { archiveLines, logHead } from './export.js';
import { type Spool, spool } from './spool.js';
import type { Queryable } from './store.js';

export interface ImportDeps {
  readonly pools: Pools;
  readonly catalog: Catalog;
}

export interface Imported {
  readonly execution_id: Id;
  /** `duplicate`: the very same log was here already. */
  readonly status: 'imported' | 'duplicate';
  readonly events: number;
  readonly sha256: string;
}

const BATCH_ROWS = 500;
const BATCH_LENGTH = 4 * 1024 * 1024;

export async function importLog(deps: ImportDeps, upload: AsyncIterable<Buffer>): Promise<Imported> {
  try {
    const file = await spool(upload);
    try {
      return await store(deps, file);
    } finally {
      await file.remove();
    }
  } catch (error) {
    if (error instanceof DamagedArchive)
      throw new ApiProblem('invalid', `The log was not imported: ${error.message}. Nothing was stored.`);
    // SQLSTATE class 23: two events with one id, or a result of another shape.
    if (error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('23'))
      throw new ApiProblem(
        'invalid',
        'The log was not imported: it holds an event that no log can hold. Nothing was stored.',
      );
    throw error;
  }
}

async function store({ pools, catalog }: ImportDeps, file: Spool): Promise<Imported> {
  const lines = file.lines();
  const header = readHeader((await lines.next()).value ?? '');
  const { executionId } = header;
  const answer = { execution_id: executionId, events: file.footer.events, sha256: file.footer.sha256 };
  if (answer.events === 0) throw new DamagedArchive('it has no events');
  const { pool } = pools.forExecution(executionId);
  await keepPlaybook(catalog, header);
  await ensurePartitionOf(pool, executionId);
  return transaction(pool, async (client) => {
    // The same lock that events from a stream are stored under (projection/import.ts).
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('noetl.import/' || $1, 0))`, [executionId]);
    if (await isStored(client, header, answer.sha256)) return { ...answer, status: 'duplicate' as const };
    await saveExecution(client, await insertLines(client, executionId, lines), answer.sha256);
    return { ...answer, status: 'imported' as const };
  });
}

/** Archived, so that the newest version of the path stays what it is here; an execution finds it by its id. */
async function keepPlaybook(catalog: Catalog, { playbook }: ArchiveHeader): Promise<void> {
  if (playbook === null) return;
  const kept = await catalog.keep(playbook);
  if (kept !== 'other') return;
  throw new ApiProblem(
    'conflict',
    `Catalog entry ${playbook.catalogId} is another playbook here; the log was not imported`,
  );
}

async function isStored(client: pg.PoolClient, header: ArchiveHeader, sha256: string): Promise<boolean> {
  const { executionId } = header;
  const known = await client.query('SELECT 1 FROM noetl.execution WHERE execution_id = $1 FOR UPDATE', [executionId]);
  const head = await logHead(client, executionId);
  if (head === undefined && known.rows.length === 0) return false;
  if ((await digestOf(client, header, head?.version ?? 0)) === sha256) return true;
  throw new ApiProblem(
    'conflict',
    `Execution ${executionId} is here already, with another log (${head?.version ?? 0} events); nothing was changed`,
  );
}

/** What an export of the log that is here would say. */
async function digestOf(db: Queryable, header: ArchiveHeader, head: number): Promise<string | undefined> {
  let last = '';
  for await (const text of archiveLines(db, header, head)) last = text;
  return (JSON.parse(last) as { sha256?: string }).sha256;
}

async function insertLines(client: pg.PoolClient, id: Id, lines: AsyncIterable<string>): Promise<ExecutionSummary> {
  let summary = startSummary(id);
  let batch: string[] = [];
  let length = 0;
  let version = 0;
  const flush = async () => {
    if (batch.length > 0) await insertBatch(client, id, batch);
    batch = [];
    length = 0;
  };
  for await (const line of lines) {
    const row: EventRow = readEventLine(line, id, ++version);
    summary = foldSummary(summary, row);
    batch.push(line);
    length += line.length;
    if (batch.length >= BATCH_ROWS || length >= BATCH_LENGTH) await flush();
  }
  await flush();
  if (summary.start_time === null) throw new DamagedArchive('no event in it says that an execution began');
  return summary;
}

/** The lines as they are: the database reads what it wrote, and every number keeps its spelling. */
async function insertBatch(client: pg.PoolClient, id: Id, lines: readonly string[]): Promise<void> {
  await client.query(
    `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, parent_event_id, parent_execution_id, event_type, node_id,
       node_name, node_type, status, command_id, worker_id, duration, context, result, meta, error, created_at, tenant_id, organization_id)
     SELECT $2, event_id, stream_version, catalog_id, parent_event_id, parent_execution_id, event_type, node_id, node_name, node_type,
       status, command_id, worker_id, duration, context, result, meta, error, created_at, coalesce(tenant_id, 'default'),
       coalesce(organization_id, 'default')
     FROM jsonb_to_recordset($1::jsonb) AS e(event_id bigint, stream_version bigint, catalog_id bigint, parent_event_id bigint,
       parent_execution_id bigint, event_type text, node_id text, node_name text, node_type text, status text, command_id text,
       worker_id text, duration double precision, context jsonb, result jsonb, meta jsonb, error text, created_at timestamptz,
       tenant_id text, organization_id text)`,
    [`[${lines.join(',')}]`, id],
  );
}

async function saveExecution(client: pg.PoolClient, summary: ExecutionSummary, sha256: string): Promise<void> {
  const { pool, ...row } = summary;
  await client.query(
    `INSERT INTO noetl.execution (execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head_version, last_event_id,
       last_event_type, last_node_name, error, routing, start_time, end_time)
     SELECT execution_id, catalog_id, path, parent_execution_id, parent_event_id, status, head_version, last_event_id, last_event_type,
       last_node_name, error, jsonb_build_object('execution_pool', $2::text, 'imported', true, 'archive', $3::text), start_time, end_time
     FROM jsonb_to_record($1::jsonb) AS x(execution_id bigint, catalog_id bigint, path text, parent_execution_id bigint,
       parent_event_id bigint, status text, head_version bigint, last_event_id bigint, last_event_type text, last_node_name text, error text,
       start_time timestamptz, end_time timestamptz)`,
    [stringifyJson(row), pool, sha256],
  );
}

async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}
