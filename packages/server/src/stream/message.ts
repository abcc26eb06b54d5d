// An event as a message: the whole row as JSON, secrets masked like everywhere else where data leaves. What is too large for NATS becomes a
// claim check: the row without its payload, and where to fetch it.
import { type Id, type Json, type JsonObject, MASK, parseJson, redact, stringifyJson } from '@noetl/core';
import type { EventParts, OutgoingEvent } from './outgoing.js';
import { eventSubject } from './subject.js';

/** Below NATS's usual limit of 1 MiB, with room for subject and headers. */
export const MAX_BODY_BYTES = 900 * 1024;
/** Texts of a claim check are cut here: it must fit whatever somebody wrote into a name. */
const CLAIM_TEXT = 1_000;

export interface EventMessage {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly claimCheck: boolean;
}

export function eventMessage(event: OutgoingEvent, options: { maxBytes: number; url: string }): EventMessage {
  const subject = eventSubject(event.type);
  const body = event.parts === undefined ? undefined : Buffer.from(eventBody(event.head, event.parts));
  if (body !== undefined && body.length <= options.maxBytes) return { subject, body, claimCheck: false };
  return { subject, body: Buffer.from(claimCheck(event, options.url)), claimCheck: true };
}

/** The row as JSON text. Columns that hold no secret are not written anew. */
export function eventBody(head: string, { context, result, meta, error }: EventParts): string {
  const shownError = error === null ? 'null' : stringifyJson(redact(error));
  return `${head.slice(0, -1)},"context":${masked(context)},"result":${masked(result)},"meta":${masked(meta)},"error":${shownError}}`;
}

/** Whether a message is about this execution; bodies begin with its id. */
export function isMessageOf(body: string, executionId: Id): boolean {
  return body.startsWith(`{"execution_id":${executionId},`);
}

function masked(text: string | null): string {
  if (text === null) return 'null';
  let value: Json;
  try {
    value = parseJson(text);
  } catch {
    // Nested deeper than we read: it may hold secrets that we do not see, and it must not stop the stream.
    return stringifyJson(MASK);
  }
  const shown = redact(value);
  return shown === value ? text : stringifyJson(shown);
}

function claimCheck({ head, executionId, eventId, bytes }: OutgoingEvent, url: string): string {
  const row = parseJson(head) as JsonObject;
  const cut = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cutText(value)]));
  return stringifyJson({
    ...cut,
    context: null,
    result: null,
    meta: null,
    error: null,
    payload_ref: {
      execution_id: BigInt(executionId),
      event_id: BigInt(eventId),
      url: `${url}/api/events/${executionId}/${eventId}`,
      bytes,
    },
  });
}

function cutText(value: Json | undefined): Json {
  return typeof value === 'string' ? value.slice(0, CLAIM_TEXT) : (value ?? null);
}
