// Reading JetStream streams: taking messages from a durable consumer, acknowledging them, looking at a message or at the stream itself.
import { type Consumer, type ConsumerMessages, type JsMsg, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { booleanOf, firstOf, optionalText } from './config.js';
import { configurationError } from './errors.js';
import { decoded, headersShown } from './nats-message.js';
import type { ToolCall } from './tool.js';

const KIND = 'nats';
const ANSWER_MS = 5_000;
const MAX_BATCH = 1_000;
/** NATS takes no shorter wait. */
const MIN_EXPIRY_MS = 1_000;
/** Messages beyond this go back to the stream: a step's data has to fit into memory. */
const MAX_BYTES = 32 * 1024 * 1024;
const ACK_SUBJECT = /^\$JS\.ACK\.[^\s*>]+$/;

export const STREAM_OPERATIONS = ['js_consume', 'js_ack', 'js_get_msg', 'js_stream_info'] as const;
export type StreamOperation = (typeof STREAM_OPERATIONS)[number];

export function runStream(
  operation: StreamOperation,
  connection: NatsConnection,
  call: ToolCall,
  signal: AbortSignal,
): Promise<JsonObject> {
  switch (operation) {
    case 'js_consume':
      return consume(connection, call.config, signal);
    case 'js_ack':
      return acknowledge(connection, call.config);
    case 'js_get_msg':
      return getMessage(connection, call.config);
    case 'js_stream_info':
      return streamInfo(connection, call.config);
  }
}

type Acknowledging = 'now' | 'later' | 'never';

async function consume(connection: NatsConnection, config: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  const stream = required(config, 'stream');
  const durable = required(config, 'consumer');
  const batch = numberOf(config, 'batch', 100, 1, MAX_BATCH);
  const waitMs = numberOf(config, 'timeout_ms', 1_000, 0, 5_000);
  const fields = fieldsOf(firstOf(config, 'fields'));
  const acknowledging = acknowledgingOf(firstOf(config, 'ack'));

  const manager = await managerOf(connection);
  const consumer = await manager.jetstream().consumers.get(stream, durable);
  const there = waitMs === 0 ? await available(consumer) : batch;
  const taken: JsMsg[] = [];
  if (there > 0) {
    const pull = await consumer.fetch({
      max_messages: Math.min(batch, there),
      expires: Math.max(waitMs, MIN_EXPIRY_MS),
    });
    await collect(pull, taken, fields === undefined ? MAX_BYTES : Number.POSITIVE_INFINITY, signal);
  }
  const messages = taken.map((message) => ({
    subject: message.subject,
    stream_seq: message.seq,
    consumer_seq: message.info.deliverySequence,
    delivered: message.info.deliveryCount,
    pending: message.info.pending,
    data: picked(decoded(message.data), fields),
    headers: headersShown(message.headers),
    ...(acknowledging === 'later' ? { ack_id: ackSubject(message) } : {}),
  }));
  // Nobody will see what an aborted step has taken.
  signal.throwIfAborted();
  if (acknowledging === 'now') {
    for (const message of taken) message.ack();
    await connection.flush();
  }
  return {
    status: 'success',
    stream,
    consumer: durable,
    count: messages.length,
    messages,
    acked: acknowledging === 'now',
  };
}

/** For who does not wait: how many to ask for, so that the pull ends with the last of them. Those that others hold may be due again. */
async function available(consumer: Consumer): Promise<number> {
  const { num_pending, num_ack_pending } = await consumer.info();
  return num_pending > 0 ? num_pending : num_ack_pending;
}

async function collect(pull: ConsumerMessages, taken: JsMsg[], maxBytes: number, signal: AbortSignal): Promise<void> {
  const stop = () => pull.stop();
  signal.addEventListener('abort', stop, { once: true });
  let bytes = 0;
  try {
    for await (const message of pull) {
      bytes += message.data.length;
      if (bytes > maxBytes && taken.length > 0) message.nak();
      else taken.push(message);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Where its acknowledgement goes. The library keeps it for itself, and its types do not know it. */
function ackSubject(message: JsMsg): string {
  const { reply } = message as JsMsg & { reply?: unknown };
  if (typeof reply !== 'string') throw new Error('the message cannot be acknowledged');
  return reply;
}

/** The handles of `js_consume` with `ack: defer`; they work from any connection, as long as the consumer waits for them. */
async function acknowledge(connection: NatsConnection, config: JsonObject): Promise<JsonObject> {
  const ids = firstOf(config, 'ack_ids');
  if (!Array.isArray(ids)) throw configurationError(KIND, 'ack_ids must be the list of ack_id of messages');
  const word = optionalText(KIND, config, 'action') ?? 'ack';
  const answer = answerOf(word, numberOf(config, 'delay_ms', 0, 0, 86_400_000));
  const handles = ids.map((id, index) => {
    if (typeof id !== 'string' || !ACK_SUBJECT.test(id))
      throw configurationError(KIND, `ack_ids[${index}] is not an ack_id`);
    return id;
  });
  for (const handle of handles) connection.publish(handle, answer);
  await connection.flush();
  return { status: 'success', action: word, count: handles.length };
}

function answerOf(word: string, delayMs: number): string {
  switch (word) {
    case 'ack':
      return '+ACK';
    case 'nak':
    case 'nack':
      return delayMs === 0 ? '-NAK' : `-NAK ${JSON.stringify({ delay: delayMs * 1_000_000 })}`;
    case 'term':
      return '+TERM';
    default:
      throw configurationError(KIND, `action must be ack, nak or term, not '${word}'`);
  }
}

async function getMessage(connection: NatsConnection, config: JsonObject): Promise<JsonObject> {
  const stream = required(config, 'stream');
  const subject = optionalText(KIND, config, 'subject');
  const last = booleanOf(KIND, config, false, 'last');
  const seq = firstOf(config, 'seq');
  if (subject === undefined && seq === undefined && !last)
    throw configurationError(KIND, 'seq, subject, or last: true says which message');
  const manager = await managerOf(connection);
  const asked =
    seq !== undefined
      ? { seq: numberOf(config, 'seq', 0, 1, Number.MAX_SAFE_INTEGER) }
      : subject !== undefined
        ? { last_by_subj: subject }
        : { seq: (await manager.streams.info(stream)).state.last_seq };
  const message = await manager.streams.getMessage(stream, asked);
  if (message === null) return { status: 'not_found', stream, subject: subject ?? null, seq: null, data: null };
  return { status: 'success', stream, subject: message.subject, seq: message.seq, data: decoded(message.data) };
}

async function streamInfo(connection: NatsConnection, config: JsonObject): Promise<JsonObject> {
  const stream = required(config, 'stream');
  const { config: set, state } = await (await managerOf(connection)).streams.info(stream);
  return {
    status: 'success',
    stream,
    config: { name: set.name, subjects: set.subjects, max_msgs: set.max_msgs, max_bytes: set.max_bytes },
    state: {
      messages: state.messages,
      bytes: state.bytes,
      first_seq: state.first_seq,
      last_seq: state.last_seq,
      consumer_count: state.consumer_count,
    },
  };
}

function managerOf(connection: NatsConnection) {
  return jetstreamManager(connection, { checkAPI: false, timeout: ANSWER_MS });
}

function required(config: JsonObject, field: string): string {
  const value = optionalText(KIND, config, field);
  if (value === undefined || value === '') throw configurationError(KIND, `${field} is required`);
  return value;
}

function numberOf(config: JsonObject, field: string, fallback: number, min: number, max: number): number {
  const value = firstOf(config, field) ?? fallback;
  const number = Number(value);
  if (typeof value === 'object' || !Number.isSafeInteger(number))
    throw configurationError(KIND, `${field} must be a whole number`);
  return Math.min(max, Math.max(min, number));
}

function acknowledgingOf(value: Json | undefined): Acknowledging {
  switch (String(value ?? 'true').toLowerCase()) {
    case 'true':
    case 'auto':
    case 'on_success':
      return 'now';
    case 'defer':
      return 'later';
    case 'false':
    case 'manual':
    case 'none':
      return 'never';
    default:
      throw configurationError(KIND, 'ack must be true (at once), defer (later, by js_ack) or false');
  }
}

function fieldsOf(value: Json | undefined): ReadonlySet<string> | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((field) => typeof field === 'string'))
    throw configurationError(KIND, 'fields must be a list of names');
  return new Set(value as string[]);
}

function picked(data: Json, fields: ReadonlySet<string> | undefined): Json {
  if (fields === undefined || !isObject(data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => fields.has(name)));
}
