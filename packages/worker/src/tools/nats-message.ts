// What travels through NATS, as steps write it and as they read it: text as it is, everything else as JSON. Pure.
import { type MsgHdrs, headers as natsHeaders } from '@nats-io/transport-node';
import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '@noetl/core';
import { firstOf, optionalText } from './config.js';
import { configurationError } from './errors.js';

export interface OutgoingMessage {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly headers: MsgHdrs;
  /** `Nats-Msg-Id`: the stream takes a second message with it for the first one. */
  readonly messageId: string | undefined;
}

const KIND = 'nats';
const MESSAGE_ID = 'Nats-Msg-Id';

/** @param place where it stands in the configuration, for messages to people */
export function outgoing(message: JsonObject, place: string): OutgoingMessage {
  const subject = optionalText(KIND, message, 'subject');
  // NATS would end the connection, and with it what other steps have under way.
  if (subject === undefined || !isSubject(subject))
    throw configurationError(KIND, `${place}subject must be a subject without wildcards, like orders.created`);
  const headers = headersOf(firstOf(message, 'headers'), place);
  const id = firstOf(message, 'msg_id', 'message_id') ?? (headers.get(MESSAGE_ID) || undefined);
  if (id !== undefined && typeof id === 'object')
    throw configurationError(KIND, `${place}msg_id must be a single value`);
  return {
    subject,
    body: encoded(firstOf(message, 'data', 'payload', 'message', 'value')),
    headers,
    messageId: id === undefined ? undefined : String(id),
  };
}

export function isSubject(text: string): boolean {
  return text.length <= 1_000 && /^[^\s.*>\0]+(\.[^\s.*>\0]+)*$/.test(text);
}

export function encoded(value: Json | undefined): Uint8Array {
  if (value === undefined) return new Uint8Array();
  return Buffer.from(typeof value === 'string' ? value : stringifyJson(value));
}

/** JSON where it is JSON, else the text. */
export function decoded(bytes: Uint8Array): Json {
  const text = Buffer.from(bytes).toString('utf8');
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

export function headersShown(headers: MsgHdrs | undefined): JsonObject {
  if (headers === undefined) return {};
  return Object.fromEntries(
    headers.keys().map((name) => {
      const values = headers.values(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

function headersOf(given: Json | undefined, place: string): MsgHdrs {
  const headers = natsHeaders();
  if (given === undefined) return headers;
  if (!isObject(given)) throw configurationError(KIND, `${place}headers must be a mapping of names to values`);
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null) continue;
      if (typeof one === 'object') throw configurationError(KIND, `${place}headers.${name} must be text`);
      try {
        headers.append(name, String(one));
      } catch {
        throw configurationError(KIND, `${place}headers.${name} holds a character that no header takes`);
      }
    }
  }
  return headers;
}
