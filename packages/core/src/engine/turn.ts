// One turn of an execution: the events that one fact leads to. Every change goes through `emit`, which makes the row and folds
// it at once, so what the engine sees while it decides is exactly what a replay of the rows will see.
import type { Id } from '../ids/index.js';
import { isObject } from '../json/index.js';
import type { Json } from '../json/types.js';
import type { CompiledPlaybook } from './compile.js';
import { encode } from './encode.js';
import type { DomainEvent } from './events.js';
import { applyEvent } from './evolve.js';
import type { Message, Posted } from './messages.js';
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
  /** For other executions, in the order they were posted. */
  readonly messages: Posted[];
  /** The event that everything in this turn follows from. */
  cause: Id | null;
  emit(event: DomainEvent, eventId?: Id): EventRow;
  /** Stores a producer's event as it is; `event` is what it means. */
  accept(row: EventRow, event: DomainEvent | undefined): void;
  post(message: Message): void;
}

export function beginTurn(compiled: CompiledPlaybook, state: ExecutionState, world: World): Turn {
  const record = (row: EventRow, event: DomainEvent | undefined) => {
    // First of all: an event that cannot be applied must not leave a gap in the versions behind it.
    if (event !== undefined) applyEvent(state, event, row);
    state.version = row.stream_version;
    state.lastEventId = row.event_id;
    turn.rows.push(row);
    turn.events.push(event);
  };
  const turn: Turn = {
    compiled,
    state,
    world,
    rows: [],
    events: [],
    messages: [],
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
        meta: tagged(state, event, encoded.meta),
        error: encoded.error,
        created_at: world.now,
      };
      record(row, event);
      return row;
    },
    accept(produced, event) {
      const meta = event === undefined ? produced.meta : tagged(state, event, produced.meta);
      const row = meta === produced.meta ? produced : { ...produced, meta };
      record(row, event);
      turn.cause = row.event_id;
    },
    post(message) {
      turn.messages.push({ id: world.nextId(), message });
    },
  };
  return turn;
}

/** The end of an item names its loop, so that a reader of the log can count a loop without knowing the engine. */
function tagged(state: ExecutionState, event: DomainEvent, meta: Json): Json {
  if (event.type !== 'command.completed' && event.type !== 'command.failed') return meta;
  const command = state.commands[event.commandId];
  const loop = command?.iteration == null ? undefined : state.steps[command.step]?.loop;
  if (loop === undefined || loop === null) return meta;
  return { ...(isObject(meta) ? meta : {}), loop_id: loop.loopId, iteration_index: command?.iteration ?? 0 };
}
