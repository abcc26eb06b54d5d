// One row of `noetl.event`: the wire and storage shape of an event, shared by the log, the engine, replay and the browser.
import type { Id } from '../ids/index.js';
import type { Json } from '../json/types.js';

export interface EventRow {
  readonly execution_id: Id;
  readonly event_id: Id;
  /** Gap-free position in the log of its execution, from 1. */
  readonly stream_version: number;
  readonly catalog_id: Id;
  readonly parent_event_id: Id | null;
  readonly parent_execution_id: Id | null;
  readonly event_type: string;
  readonly node_id: string | null;
  readonly node_name: string | null;
  readonly node_type: string | null;
  readonly status: string | null;
  readonly command_id: string | null;
  readonly worker_id: string | null;
  readonly duration: number | null;
  readonly context: Json;
  /** null, or `{status, context?, reference?}` and nothing else (a CHECK in the database). */
  readonly result: Json;
  readonly meta: Json;
  readonly error: string | null;
  /** ISO 8601, UTC: the producer's clock. */
  readonly created_at: string;
}
