// One turn of an execution: the events that one fact leads to. Every change goes through `emit`, which makes the row and folds
// it at once, so what the engine sees while it decides is exactly what a replay of the rows will see.
import type { Id } from '../ids/index.js';
import { encode } from './codec.js';
import type { CompiledPlaybook } from './compile.js';
import type { DomainEvent } from './events.js';
import { applyEvent, evolve } from './evolve.js';
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
  /** The event that everything in this turn follows from. */
  cause: Id | null;
  emit(event: DomainEvent, eventId?: Id): EventRow;
  /** Stores a producer's event as it is. */
  accept(row: EventRow): void;
}

export function beginTurn(compiled: CompiledPlaybook, state: ExecutionState, world: World): Turn {
  const turn: Turn = {
    compiled,
    state,
    world,
    rows: [],
    cause: null,
    emit(event, eventId = world.nextId()) {
      const catalogId = event.type === 'playbook_started' ? event.catalogId : state.catalogId;
      const row: EventRow = {
        execution_id: state.executionId,
        event_id: eventId,
        stream_version: state.version + 1,
        catalog_id: catalogId,
        parent_event_id: event.type === 'playbook_started' ? event.parentEventId : turn.cause,
        parent_execution_id: event.type === 'playbook_started' ? event.parentExecutionId : state.parentExecutionId,
        duration: null,
        created_at: world.now,
        ...encode(event, state.executionId, catalogId),
      };
      state.version = row.stream_version;
      state.lastEventId = row.event_id;
      applyEvent(state, event, row);
      turn.rows.push(row);
      return row;
    },
    accept(row) {
      evolve(state, row);
      turn.rows.push(row);
      turn.cause = row.event_id;
    },
  };
  return turn;
}
