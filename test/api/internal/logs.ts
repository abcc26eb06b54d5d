// Logs on disk, and calls that put events into them.
import type { Json } from '../../../packages/core/src/index.js';
import type { TestServer } from '../../support/server.js';
import type { Answer } from '../support/ask.js';
import { sql } from '../support/sql.js';
import { internalPost } from './support.js';

export interface StoredEvent {
  event_id: string;
  stream_version: string;
  event_type: string;
  status: string | null;
  result: Json;
  meta: Json;
  context: Json;
  created_at: Date;
  [column: string]: unknown;
}

export interface Logs {
  /** An id that nobody else in this file uses; as an execution, one that began long ago. */
  fresh(): bigint;
  start(): Promise<string>;
  logOf(id: string | bigint): Promise<StoredEvent[]>;
  headOf(id: string): Promise<number>;
  project(events: unknown): Promise<Answer>;
  materialize(events: unknown): Promise<Answer>;
}

/** @param path what `start` runs */
export function logsOf(server: () => TestServer, path: string): Logs {
  let serial = 331_000_000_000_000_000n;
  return {
    fresh: () => ++serial,
    start: async () => (await server().client.execute({ path })).execution_id,
    logOf: (id) =>
      sql<StoredEvent>(server().database, 'SELECT * FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version', [
        String(id),
      ]),
    async headOf(id) {
      const [row] = await sql<{ head: number }>(
        server().database,
        'SELECT head_version::int AS head FROM noetl.execution WHERE execution_id = $1',
        [id],
      );
      return row?.head ?? 0;
    },
    project: (events) => internalPost(server(), 'events/project', { events }),
    materialize: (events) => internalPost(server(), 'events/materialize', events),
  };
}
