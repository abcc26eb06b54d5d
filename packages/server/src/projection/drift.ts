// Where stored rows say something else than the log.
import type { Id, Json } from '@noetl/core';
import type { CommandInsert, ExecutionChange } from '../log/index.js';
import type { StoredCommand, StoredExecution } from './rebuild-store.js';

export interface Drift {
  readonly execution_id: Id;
  readonly table: 'execution' | 'command' | 'projection_snapshot';
  /** The row: the id of the execution, or of the command. */
  readonly key: string;
  /** `*`: the row as a whole. */
  readonly field: string;
  readonly stored: Json;
  readonly expected: Json;
}

export function executionDrift(stored: StoredExecution | undefined, expected: ExecutionChange): Drift[] {
  const { execution_id } = expected;
  const row = { execution_id, table: 'execution', key: execution_id } as const;
  if (stored === undefined) return [{ ...row, field: '*', stored: null, expected: expected.status }];
  return differences(row, [
    ['catalog_id', stored.catalog_id, expected.catalog_id],
    ['path', stored.path, expected.path],
    ['parent_execution_id', stored.parent_execution_id, expected.parent_execution_id],
    ['parent_event_id', stored.parent_event_id, expected.parent_event_id],
    ['status', stored.status, expected.status],
    ['head_version', stored.head_version, expected.head],
    ['last_event_id', stored.last_event_id, expected.last_event_id],
    ['last_event_type', stored.last_event_type, expected.last_event_type],
    ['last_node_name', stored.last_node_name, expected.last_node_name],
    ['error', stored.error, expected.error],
    ['execution_pool', stored.pool, expected.pool],
    ['start_time', instant(stored.start_time), instant(expected.start_time)],
    ['end_time', instant(stored.end_time), instant(expected.end_time)],
  ]);
}

/** A finished command without a row is not drift: retention takes such rows away. */
export function commandDrift(stored: StoredCommand | undefined, expected: CommandInsert): Drift[] {
  const row = { execution_id: expected.execution_id, table: 'command', key: expected.command_id } as const;
  if (stored === undefined) {
    return expected.finished ? [] : [{ ...row, field: '*', stored: null, expected: expected.status }];
  }
  return differences(row, [
    ['command_id', stored.command_id, expected.command_id],
    ['execution_id', stored.execution_id, expected.execution_id],
    ['catalog_id', stored.catalog_id, expected.catalog_id],
    ['step_name', stored.step_name, expected.step_name],
    ['tool_kind', stored.tool_kind, expected.tool_kind],
    ['pool', stored.pool, expected.pool],
    ['status', stored.status, expected.status],
    ['attempt', stored.attempt, expected.attempt],
    ['max_attempts', stored.max_attempts, expected.max_attempts],
    ['worker_id', stored.worker_id, expected.worker_id],
    ['claim_token', stored.claim_token, expected.claim_token],
    ['error', stored.error, expected.error],
    ['latest_event_id', stored.latest_event_id, expected.latest_event_id],
    ['finished', stored.finished, expected.finished],
  ]);
}

type Field = readonly [name: string, stored: Json, expected: Json];

function differences(row: Pick<Drift, 'execution_id' | 'table' | 'key'>, fields: readonly Field[]): Drift[] {
  return fields.flatMap(([field, stored, expected]) =>
    stored === expected ? [] : [{ ...row, field, stored, expected }],
  );
}

/** Two spellings of one moment are the same. */
function instant(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}
