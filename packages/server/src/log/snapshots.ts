// Snapshots of states: every 200 events and at the end, so that a long log is not folded from its start after a restart. They are a cache:
// written behind the commit, in bulk, dropped when too many wait; one that is broken is ignored, and the log is folded instead.
import {
  type ExecutionState,
  type Id,
  isTerminal,
  type Json,
  restoreState,
  STATE_FORMAT,
  stringifyJson,
  toStorableText,
} from '@noetl/core';
import type pg from 'pg';
import { eachShard, type Pools } from '../db/index.js';

export const SNAPSHOT_TYPE = 'orchestrator_workflow_state';

/** SHA-256 of the text that the database itself makes of a document, which does not depend on how it was written. */
const checksumOf = (column: string) => `encode(sha256(convert_to(${column}::text, 'UTF8')), 'hex')`;
/** A condition on rows of noetl.projection_snapshot. */
export const IS_INTACT = `checksum = ${checksumOf('snapshot')}`;

const EVERY_EVENTS = 200;
/** A large state is written less often: what a snapshot costs stays in proportion to the events it saves. */
const BYTES_PER_EVENT = 32;
const BATCH = 50;
const MAX_WAITING = 1_000;
/** A state that is larger than this is cheaper to fold than to store. */
const MAX_BYTES = 32 * 1024 * 1024;

export interface Taken {
  readonly executionId: Id;
  readonly version: number;
  readonly text: string;
}

export interface Snapshots {
  /** Called after a commit, with the state that was committed. */
  note(state: Readonly<ExecutionState>): void;
  /** Writes what waits. */
  flush(): Promise<void>;
}

export function createSnapshots(pools: Pools): Snapshots {
  const last = new Map<Id, { version: number; bytes: number }>();
  const waiting = new Map<Id, Taken>();

  const isDue = (state: Readonly<ExecutionState>): boolean => {
    if (isTerminal(state)) return true;
    const { version, bytes } = last.get(state.executionId) ?? { version: 0, bytes: 0 };
    return state.version - version >= Math.max(EVERY_EVENTS, bytes / BYTES_PER_EVENT);
  };

  return {
    note(state) {
      if (!isDue(state)) return;
      const { executionId, version } = state;
      // Taken at once: the next commit changes the state.
      const { text } = take(state);
      if (isTerminal(state)) last.delete(executionId);
      else last.set(executionId, { version, bytes: text.length });
      if (text.length > MAX_BYTES || (waiting.size >= MAX_WAITING && !waiting.has(executionId))) return;
      waiting.set(executionId, { executionId, version, text });
    },
    async flush() {
      const taken = [...waiting.values()];
      waiting.clear();
      await eachShard(pools, async (shard) => {
        const here = taken.filter((snapshot) => pools.forExecution(snapshot.executionId) === shard);
        for (let from = 0; from < here.length; from += BATCH) await save(shard.pool, here.slice(from, from + BATCH));
      });
    },
  };
}

export function take(state: Readonly<ExecutionState>): Taken {
  const { executionId, version } = state;
  return { executionId, version, text: toStorableText(stringifyJson(state)) };
}

/** Never goes back: of two that race, the one that has seen more stays. */
export async function save(pool: pg.Pool | pg.PoolClient, snapshots: readonly Taken[]): Promise<void> {
  await pool.query({
    name: 'save-snapshots',
    text: `INSERT INTO noetl.projection_snapshot AS s (aggregate_id, aggregate_type, version, snapshot, checksum, meta)
           SELECT x.execution_id::text, $2,
             (SELECT max(e.event_id) FROM noetl.event e WHERE e.execution_id = x.execution_id AND e.stream_version <= x.version),
             x.state, ${checksumOf('x.state')},
             jsonb_build_object('applied_count', x.version, 'stream_version', x.version, 'format', $3::int, 'routing_meta',
               (SELECT e.meta FROM noetl.event e WHERE e.execution_id = x.execution_id AND e.stream_version = 1))
           FROM jsonb_to_recordset($1::jsonb) AS x(execution_id bigint, version bigint, state jsonb)
           ON CONFLICT (tenant_id, organization_id, aggregate_type, aggregate_id) DO UPDATE SET
             version = EXCLUDED.version, snapshot = EXCLUDED.snapshot, checksum = EXCLUDED.checksum, meta = EXCLUDED.meta, updated_at = now()
           WHERE coalesce((s.meta ->> 'stream_version')::bigint, 0) < (EXCLUDED.meta ->> 'stream_version')::bigint`,
    // Put together as text: a list of long texts would be escaped character by character on its way.
    values: [
      `[${snapshots.map(({ executionId, version, text }) => `{"execution_id":${executionId},"version":${version},"state":${text}}`).join()}]`,
      SNAPSHOT_TYPE,
      STATE_FORMAT,
    ],
  });
}

export interface LoadedSnapshots {
  readonly states: ReadonlyMap<Id, ExecutionState>;
  /** Those that could not be used. */
  readonly broken: readonly Id[];
}

/** The newest usable snapshot of each execution. */
export async function loadSnapshots(pool: pg.Pool, ids: readonly Id[]): Promise<LoadedSnapshots> {
  const result = await pool.query<{ aggregate_id: Id; snapshot: Json; intact: boolean; stream_version: number }>({
    name: 'load-snapshots',
    text: `SELECT aggregate_id, snapshot, ${IS_INTACT} AS intact, (meta ->> 'stream_version')::float8 AS stream_version
           FROM noetl.projection_snapshot
           WHERE tenant_id = 'default' AND organization_id = 'default' AND aggregate_type = $1 AND aggregate_id = ANY ($2::text[])
             AND (meta ->> 'format')::int = $3`,
    values: [SNAPSHOT_TYPE, ids, STATE_FORMAT],
  });
  const states = new Map<Id, ExecutionState>();
  const broken: Id[] = [];
  for (const row of result.rows) {
    const state = row.intact ? restoreState(row.aggregate_id, row.snapshot) : undefined;
    if (state?.version === row.stream_version) states.set(row.aggregate_id, state);
    else broken.push(row.aggregate_id);
  }
  return { states, broken };
}
