// What the log of one execution says its rows must be: the whole log folded from zero, page by page.
import {
  type DomainEvent,
  decode,
  type EventRow,
  type ExecutionState,
  evolve,
  type Id,
  initialState,
} from '@noetl/core';
import type pg from 'pg';
import {
  type CommandInsert,
  commandChanges,
  type ExecutionChange,
  executionChange,
  readEvents,
  type TakenSnapshot,
  takeSnapshot,
} from '../log/index.js';

export interface Expected {
  readonly state: ExecutionState;
  /** Undefined: no event says that an execution began (the log of a subscription, for example). */
  readonly execution: ExecutionChange | undefined;
  readonly commands: readonly CommandInsert[];
  /** The state at the version that was asked for; undefined when the log is shorter. */
  readonly snapshot: TakenSnapshot | undefined;
}

const PAGE = 2_000;

/** @param snapshotAt the version whose state is wanted, besides the last one */
export async function foldLog(client: pg.PoolClient, id: Id, snapshotAt: number | undefined): Promise<Expected> {
  const state = initialState(id);
  const rows: EventRow[] = [];
  const events: (DomainEvent | undefined)[] = [];
  let snapshot: TakenSnapshot | undefined;
  for (;;) {
    const page = await readEvents(client, id, state.version, PAGE);
    for (const row of page) {
      evolve(state, row);
      rows.push(withoutPayload(row));
      events.push(eventWithoutPayload(decode(row)));
      if (state.version === snapshotAt) snapshot = takeSnapshot(state);
    }
    if (page.length < PAGE) break;
  }
  return {
    state,
    execution: rows.length === 0 || state.status === 'PENDING' ? undefined : executionChange(state, 0, rows),
    commands: commandChanges(rows, events).inserts,
    snapshot,
  };
}

/** A log may be long, and its payloads are most of it. What the rows imply does not need them. */
function withoutPayload(row: EventRow): EventRow {
  return { ...row, context: null, result: null, meta: null };
}

function eventWithoutPayload(event: DomainEvent | undefined): DomainEvent | undefined {
  switch (event?.type) {
    case 'command.issued':
      return { ...event, context: { tool_config: null, args: {}, render_context: {} } };
    case 'call.done':
    case 'call.error':
      return { ...event, data: null, updates: {} };
    default:
      return event;
  }
}
