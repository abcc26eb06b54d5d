// The execution row as a fold of its log, event by event: what `noetl.execution` must say. It needs only the events that begin and end an
// execution, so it costs the same however long the log is. The append computes the same from its state (log/project.ts).
import { decode, type EventRow, type ExecutionStatus, type Id } from '@noetl/core';

export interface ExecutionSummary {
  readonly execution_id: Id;
  readonly catalog_id: Id;
  readonly path: string;
  readonly parent_execution_id: Id | null;
  readonly parent_event_id: Id | null;
  readonly status: ExecutionStatus;
  readonly head_version: number;
  readonly last_event_id: Id | null;
  readonly last_event_type: string | null;
  readonly last_node_name: string | null;
  readonly error: string | null;
  readonly pool: string;
  readonly start_time: string | null;
  readonly end_time: string | null;
}

export function startSummary(id: Id): ExecutionSummary {
  return {
    execution_id: id,
    catalog_id: '0' as Id,
    path: '',
    parent_execution_id: null,
    parent_event_id: null,
    status: 'PENDING',
    head_version: 0,
    last_event_id: null,
    last_event_type: null,
    last_node_name: null,
    error: null,
    pool: 'shared',
    start_time: null,
    end_time: null,
  };
}

export function foldSummary(summary: ExecutionSummary, row: EventRow): ExecutionSummary {
  const moved: ExecutionSummary = {
    ...summary,
    head_version: row.stream_version,
    last_event_id: row.event_id,
    last_event_type: row.event_type,
    last_node_name: row.node_name ?? summary.last_node_name,
  };
  const event = decode(row);
  if (event?.type === 'playbook_started') {
    return {
      ...moved,
      catalog_id: event.catalogId,
      path: event.path,
      parent_execution_id: event.parentExecutionId,
      parent_event_id: event.parentEventId,
      status: 'RUNNING',
      pool: event.pool,
      start_time: row.created_at,
    };
  }
  if (event?.type === 'execution.forked') return { ...moved, parent_execution_id: null, parent_event_id: null };
  if (event?.type === 'playbook.ended') {
    return { ...moved, status: event.status, error: event.error, end_time: row.created_at };
  }
  return moved;
}
