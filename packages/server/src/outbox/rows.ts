// What an append has to tell the outside: which outbox rows follow from its events. Pure; the append transaction writes them together with
// the events, so nothing is told that did not happen, and nothing that happened is left untold.
import {
  type CommandState,
  type DomainEvent,
  type EventRow,
  type ExecutionState,
  type Json,
  rawId,
  redact,
} from '@noetl/core';
import type { OutboxInsert } from './model.js';

export interface OutboxRules {
  /** Commands are announced on NATS. */
  readonly announceCommands: boolean;
  /** Every event is announced (NOETL_EVENT_MIRROR_ENABLED). */
  readonly mirrorEvents: boolean;
  /** Where workers claim and report. */
  readonly serverUrl: string;
}

/** The part of a state that the rows need. */
export type Told = Pick<ExecutionState, 'path' | 'catalogId' | 'commands' | 'trace' | 'startedAt' | 'callbackUrl'>;

/** `events[i]` is what `rows[i]` means; `state` is the state after all of them. */
export function outboxRowsOf(
  rows: readonly EventRow[],
  events: readonly (DomainEvent | undefined)[],
  state: Told,
  rules: OutboxRules,
): OutboxInsert[] {
  const told: OutboxInsert[] = [];
  for (const [index, row] of rows.entries()) {
    if (rules.mirrorEvents) told.push(mirrored(row));
    const event = events[index];
    if (event?.type === 'playbook.ended' && state.callbackUrl !== null)
      told.push(completion(row, event, state, state.callbackUrl));
    if (rules.announceCommands && (event?.type === 'command.issued' || event?.type === 'command.requeued')) {
      // Whoever was given it in the same append needs no wake-up, and what ended in it needs no worker.
      const command = state.commands[event.commandId];
      if (command?.status === 'PENDING') told.push(announcement(row, event, command, state.trace, rules.serverUrl));
    }
  }
  return told;
}

/** A wake-up for workers. It names the command and where to claim it; a lost one costs time, never the command. */
function announcement(
  row: EventRow,
  event: Extract<DomainEvent, { type: 'command.issued' | 'command.requeued' }>,
  command: CommandState,
  trace: Json,
  serverUrl: string,
): OutboxInsert {
  return {
    topic: 'command',
    subject: `noetl.commands.${subjectToken(command.pool)}.${row.execution_id}`,
    msg_id: `command:${row.execution_id}:${row.event_id}`,
    ordering_key: row.execution_id,
    execution_id: row.execution_id,
    event_id: row.event_id,
    payload: {
      execution_id: rawId(row.execution_id),
      event_id: rawId(command.eventId),
      command_id: command.commandId,
      step: command.step,
      server_url: serverUrl,
      execution_pool: command.pool,
      ...(trace === null ? {} : { trace }),
    },
    headers: {},
    delay_ms: event.type === 'command.requeued' ? event.delayMs : 0,
  };
}

/** The row itself, as `POST /api/internal/events/project` takes it, with secrets masked: it is on its way out. */
function mirrored(row: EventRow): OutboxInsert {
  const id = (value: EventRow['parent_event_id']): Json => (value === null ? null : rawId(value));
  return {
    topic: 'event',
    subject: `noetl.events.${subjectTokens(row.event_type)}`,
    msg_id: `event:${row.execution_id}:${row.event_id}`,
    ordering_key: row.execution_id,
    execution_id: row.execution_id,
    event_id: row.event_id,
    payload: {
      ...row,
      execution_id: rawId(row.execution_id),
      event_id: rawId(row.event_id),
      catalog_id: rawId(row.catalog_id),
      parent_event_id: id(row.parent_event_id),
      parent_execution_id: id(row.parent_execution_id),
      context: redact(row.context),
      result: redact(row.result),
      meta: redact(row.meta),
      error: redact(row.error),
    },
    headers: {},
    delay_ms: 0,
  };
}

function completion(
  row: EventRow,
  event: Extract<DomainEvent, { type: 'playbook.ended' }>,
  state: Told,
  url: string,
): OutboxInsert {
  return {
    topic: 'callback',
    subject: url,
    msg_id: `callback:${row.execution_id}:${row.event_id}`,
    ordering_key: row.execution_id,
    execution_id: row.execution_id,
    event_id: row.event_id,
    payload: {
      type: 'execution.ended',
      execution_id: row.execution_id,
      event_id: row.event_id,
      path: state.path,
      catalog_id: state.catalogId,
      status: event.status,
      error: event.error,
      started_at: state.startedAt,
      ended_at: row.created_at,
    },
    headers: {},
    delay_ms: 0,
  };
}

/** Names of events and pools come from outside, and a blank or a wildcard in a subject would break the connection it is published on. */
function subjectTokens(text: string): string {
  return text.split('.').map(subjectToken).join('.');
}

function subjectToken(text: string): string {
  const token = text.replace(/[^A-Za-z0-9_-]/g, '_');
  return token === '' ? 'unknown' : token;
}
