// The log of one execution, written out. Read page by page while it is sent, up to the event that was the last one when it began.
import { createHash } from 'node:crypto';
import type { Id } from '@noetl/core';
import { type ArchiveHeader, writeFooter, writeHeader } from './archive-format.js';
import type { Queryable } from './store.js';

const PAGE = 500;

/** Texts that make the file, one after the other. @param head how many events */
export async function* archiveLines(db: Queryable, header: ArchiveHeader, head: number): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const first = `${writeHeader(header)}\n`;
  hash.update(first);
  yield first;
  for (let done = 0; done < head; ) {
    const lines = await eventLines(db, header.executionId, done, Math.min(PAGE, head - done));
    // A file without its last line is refused by whoever reads it.
    if (lines.length === 0) throw new Error(`the log of execution ${header.executionId} ends at ${done} of ${head}`);
    const text = `${lines.join('\n')}\n`;
    hash.update(text);
    yield text;
    done += lines.length;
  }
  yield `${writeFooter({ events: head, sha256: hash.digest('hex') })}\n`;
}

/** The database writes the lines, so that every number keeps its spelling. */
async function eventLines(db: Queryable, id: Id, after: number, limit: number): Promise<string[]> {
  const result = await db.query<{ line: string }>(
    `SELECT row_to_json(e)::text AS line FROM (
       SELECT stream_version, event_id::text, event_type, created_at, node_name, node_id, node_type, status, command_id, worker_id, duration,
         parent_event_id::text, parent_execution_id::text, catalog_id::text, tenant_id, organization_id, error, context, result, meta
       FROM noetl.event WHERE execution_id = $1 AND stream_version > $2 ORDER BY stream_version LIMIT $3) e`,
    [id, after, limit],
  );
  return result.rows.map((row) => row.line);
}

export async function logHead(db: Queryable, id: Id): Promise<{ version: number; catalogId: Id } | undefined> {
  const result = await db.query<{ version: number; catalog_id: Id }>(
    `SELECT stream_version::float8 AS version, catalog_id FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version DESC LIMIT 1`,
    [id],
  );
  const [row] = result.rows;
  return row === undefined ? undefined : { version: row.version, catalogId: row.catalog_id };
}
