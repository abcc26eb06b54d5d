// Reading rows of a log the way a checker does: what is not there is empty.
import { isObject } from '../../json/index.js';
import type { Json, JsonObject } from '../../json/types.js';
import type { EventRow } from '../row.js';

export const TERMINAL: ReadonlySet<string> = new Set(['playbook.completed', 'playbook.failed', 'playbook_cancelled']);
export const CLOSING: ReadonlySet<string> = new Set(['command.completed', 'command.failed', 'command.cancelled']);

/** Everything before it was copied: what was open there is not closed there. */
export const FORKED = 'execution.forked';

/** Not an event that somebody else has posted: those are history only. */
export function moves(row: EventRow): boolean {
  if (metaOf(row).external === true || row.event_type === 'order.shipped') return false;
  return !row.event_type.startsWith('command.') || row.command_id !== null;
}

export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
export const metaOf = (row: EventRow): JsonObject => objectOf(row.meta);
export const detailOf = (row: EventRow): JsonObject => objectOf(objectOf(row.result).context);
/** Index of the item that a command is for; undefined when its step does not loop. */
export const itemOf = (row: EventRow): Json | undefined => metaOf(row).iteration_index;
/** A command of an item, of a row, or of a claim. */
export const isPartOfLoop = (row: EventRow): boolean => itemOf(row) !== undefined || metaOf(row).cursor !== undefined;

export function ensure(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}
