// Why an event is in the log: the event it follows from.
import { commandEventId, commandIdOf, decode } from '../engine/decode.js';
import type { EventRow } from '../engine/row.js';
import type { Id } from '../ids/index.js';

/** Null for the first event, and for what came from outside. What a worker reports follows from the event that issued its command. */
export function causeOf(row: EventRow): Id | null {
  const event = decode(row);
  // A child's start names the event of its parent, which is in another log.
  if (event?.type === 'playbook_started') return null;
  if (row.parent_event_id !== null) return row.parent_event_id;
  if (event?.type === 'command.issued') return null;
  const commandId = commandIdOf(row);
  return (commandId === undefined ? undefined : commandEventId(commandId)) ?? null;
}
