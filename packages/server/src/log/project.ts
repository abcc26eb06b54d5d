// What rows of the log imply for the read model: the execution row and the command rows. Written in the transaction of the
// events themselves, and recomputable from them at any time. Several events about one row become one change.
import {
  commandEventId,
  type DomainEvent,
  type EventRow,
  type ExecutionState,
  type Id,
  isErrorStatus,
  type Message,
  type Posted,
} from '@noetl/core';

export interface ExecutionChange {
  readonly execution_id: Id;
  readonly is_new: boolean;
  readonly expected: number;
  readonly head: number;
  readonly catalog_id: Id;
  readonly path: string;
  readonly parent_execution_id: Id | null;
  readonly parent_event_id: Id | null;
  readonly status: string;
  readonly last_event_id: Id;
  readonly last_event_type: string;
  readonly last_node_name: string | null;
  readonly error: string | null;
  readonly start_time: string;
  readonly end_time: string | null;
  readonly pool: string;
}

export interface CommandInsert {
  command_id: string;
  event_id: Id;
  execution_id: Id;
  catalog_id: Id;
  step_name: string;
  tool_kind: string;
  pool: string;
  status: string;
  attempt: number;
  max_attempts: number;
  worker_id: string | null;
  claim_token: number;
  leased: boolean;
  delay_ms: number;
  error: string | null;
  latest_event_id: Id;
  started: boolean;
  finished: boolean;
  timeout_ms: number | null;
  due_at: string | null;
  resume_event_id: Id | null;
}

/** Absent fields stay as they are. */
export interface CommandUpdate {
  event_id: Id;
  execution_id: Id;
  status?: string;
  attempt?: number;
  worker_id?: string | null;
  claim_token?: number;
  leased?: boolean;
  delay_ms?: number;
  error?: string | null;
  latest_event_id: Id;
  started?: boolean;
  finished?: boolean;
  resume_event_id?: Id;
}

export interface MessageInsert {
  readonly message_id: Id;
  readonly sender_id: Id;
  readonly target_id: Id;
  readonly body: Message;
}

export function messageInsert(sender: Id, { id, message }: Posted): MessageInsert {
  return { message_id: id, sender_id: sender, target_id: message.target, body: message };
}

export interface CommandChanges {
  readonly inserts: CommandInsert[];
  readonly updates: CommandUpdate[];
}

export function executionChange(state: ExecutionState, expected: number, rows: readonly EventRow[]): ExecutionChange {
  const last = rows[rows.length - 1] as EventRow;
  return {
    execution_id: state.executionId,
    is_new: expected === 0,
    expected,
    head: state.version,
    catalog_id: state.catalogId,
    path: state.path,
    parent_execution_id: state.parentExecutionId,
    parent_event_id: state.parentEventId,
    status: state.status,
    last_event_id: last.event_id,
    last_event_type: last.event_type,
    last_node_name: rows.findLast((row) => row.node_name !== null)?.node_name ?? null,
    error: state.error,
    start_time: state.startedAt ?? last.created_at,
    end_time: state.endedAt,
    pool: state.pool,
  };
}

/** `events[i]` is what `rows[i]` means. */
export function commandChanges(
  rows: readonly EventRow[],
  events: readonly (DomainEvent | undefined)[],
): CommandChanges {
  const inserts = new Map<string, CommandInsert>();
  const updates = new Map<string, CommandUpdate>();
  for (const [index, row] of rows.entries()) {
    const event = events[index];
    if (event?.type === 'execution.forked') {
      takeBack(inserts.values(), row);
      continue;
    }
    if (event === undefined || !('commandId' in event)) continue;
    if (event.type === 'command.issued') {
      inserts.set(event.commandId, {
        command_id: event.commandId,
        event_id: row.event_id,
        execution_id: row.execution_id,
        catalog_id: row.catalog_id,
        step_name: event.step,
        tool_kind: event.toolKind,
        pool: event.pool,
        status: event.park === undefined ? 'PENDING' : 'WAITING',
        attempt: event.attempt,
        max_attempts: event.maxAttempts,
        worker_id: null,
        claim_token: 0,
        leased: false,
        delay_ms: 0,
        error: null,
        latest_event_id: row.event_id,
        started: false,
        finished: false,
        timeout_ms: event.timeoutMs ?? null,
        due_at: event.park?.dueAt ?? null,
        resume_event_id: null,
      });
      continue;
    }
    let target: CommandInsert | CommandUpdate | undefined =
      inserts.get(event.commandId) ?? updates.get(event.commandId);
    if (target === undefined) {
      const eventId = commandEventId(event.commandId);
      if (eventId === undefined) throw new Error(`command id '${event.commandId}' names no event`);
      target = { event_id: eventId, execution_id: row.execution_id, latest_event_id: row.event_id };
      updates.set(event.commandId, target);
    }
    target.latest_event_id = row.event_id;
    switch (event.type) {
      case 'command.claimed':
        Object.assign(target, { status: 'CLAIMED', worker_id: event.workerId, claim_token: event.token, leased: true });
        break;
      case 'command.started':
        Object.assign(target, { status: 'RUNNING', started: true });
        break;
      case 'command.requeued':
        Object.assign(target, { status: 'PENDING', attempt: event.attempt, leased: false, delay_ms: event.delayMs });
        if (event.resume !== undefined) Object.assign(target, { resume_event_id: row.event_id });
        break;
      case 'command.handed_over':
        Object.assign(target, { status: 'WAITING', leased: false });
        break;
      case 'command.completed':
        Object.assign(target, {
          status: isErrorStatus(event.status) ? 'FAILED' : 'COMPLETED',
          leased: false,
          finished: true,
        });
        break;
      case 'command.failed':
        Object.assign(target, { status: 'FAILED', error: event.error, leased: false, finished: true });
        break;
      case 'command.cancelled':
        Object.assign(target, { status: 'CANCELLED', error: event.reason, leased: false, finished: true });
        break;
      case 'call.done':
      case 'call.error':
      case 'signal.delivered':
        break;
    }
  }
  return { inserts: [...inserts.values()], updates: [...updates.values()] };
}

/** What was open in a copied log is issued anew under another id. */
function takeBack(inserts: Iterable<CommandInsert>, fork: EventRow): void {
  for (const insert of inserts) {
    if (insert.execution_id !== fork.execution_id || insert.finished) continue;
    const latest_event_id = fork.event_id;
    Object.assign(insert, { status: 'CANCELLED', leased: false, finished: true, error: 'forked', latest_event_id });
  }
}
