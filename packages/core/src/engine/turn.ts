// One turn of an execution: the events that one fact leads to. Every change goes through `emit`, which makes the row and folds
// it at once, so what the engine sees while it decides is exactly what a replay of the rows will see.
import type { Id } from '../ids/index.js';
import type { CompiledPlaybook } from './compile.js';
import { encode } from './encode.js';
import type { DomainEvent } from './events.js';
import { applyEvent } from './evolve.js';
import type { EventRow } from './row.js';
import type { Globals } from './scope.js';
import type { ExecutionState } from './state.js';

export interface World extends Globals {
  nextId(): Id;
}

export interface Turn {
  readonly compiled: CompiledPlaybook;
  readonly state: ExecutionState;
  readonly world: World;
  readonly rows: EventRow[];
  /** What each row means, at the same index; undefined for a row that moves nothing. */
  readonly events: (DomainEvent | undefined)[];
  /** The event that everything in this turn follows from. */
  cause: Id | null;
  emit(event: DomainEvent, eventId?: Id): EventRow;
  /** Stores a producer's event as it is; `event` is what it means. */
  accept(row: EventRow, event: DomainEvent | undefined): void;
}

export function beginTurn(compiled: CompiledPlaybook, state: ExecutionState, world: World): Turn {
  const record = (row: EventRow, event: DomainEvent | undefined) => {
    state.version = row.stream_version;
    state.lastEventId = row.event_id;
    if (event !== undefined) applyEvent(state, event, row);
    turn.rows.push(row);
    turn.events.push(event);
  };
  const turn: Turn = {
    compiled,
    state,
    world,
    rows: [],
    events: [],
    cause: null,
    emit(event, eventId = world.nextId()) {
      const catalogId = event.type === 'playbook_started' ? event.catalogId : state.catalogId;
      const encoded = encode(event, state.executionId, catalogId);
      // Written out field by field: this is the hottest object of the product, and a spread costs several times as much.
      const row: EventRow = {
        execution_id: state.executionId,
        event_id: eventId,
        stream_version: state.version + 1,
        catalog_id: catalogId,
        parent_event_id: event.type === 'playbook_started' ? event.parentEventId : turn.cause,
        parent_execution_id: event.type === 'playbook_started' ? event.parentExecutionId : state.parentExecutionId,
        event_type: encoded.event_type,
        node_id: encoded.node_id,
        node_name: encoded.node_name,
        node_type: encoded.node_type,
        status: encoded.status,
        command_id: encoded.command_id,
        worker_id: encoded.worker_id,
        duration: null,
        context: encoded.context,
        result: encoded.result,
        meta: encoded.meta,
        error: encoded.error,
        created_at: world.now,
      };
      record(row, event);
      return row;
    },
    accept(row, event) {
      record(row, event);
      turn.cause = row.event_id;
    },
  };
  return turn;
}
