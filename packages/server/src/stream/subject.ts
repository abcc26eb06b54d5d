// Names of NATS subjects. Event types and pools come from callers; a space in a subject would make the server drop the connection, a
// wildcard would be refused, and a very long one would not fit its line.

const MAX_TOKENS = 16;
const MAX_TOKEN = 64;

export const EVENT_SUBJECTS = 'noetl.events.>';
export const COMMAND_SUBJECTS = ['noetl.commands', 'noetl.commands.>'] as const;

/** Dots of the type stay: `command.completed` is two tokens, and a consumer can filter `noetl.events.command.*`. */
export function eventSubject(type: string): string {
  return `noetl.events.${type.split('.').slice(0, MAX_TOKENS).map(token).join('.')}`;
}

function token(text: string): string {
  return text.slice(0, MAX_TOKEN).replace(/[^A-Za-z0-9_-]/g, '_') || 'unknown';
}

/** Whether NATS takes a message under this subject. */
export function isSubject(text: string): boolean {
  return text.length <= 1_000 && /^[^\s.*>\0]+(\.[^\s.*>\0]+)*$/.test(text);
}
