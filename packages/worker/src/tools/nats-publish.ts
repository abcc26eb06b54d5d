// Publishing: one message, or a list of them at once. Acknowledgements are awaited together, a window at a time, so a list costs little
// more than its longest answer. A message that the stream refuses stops no other one.
import { jetstream, type PubAck } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { isObject, type JsonObject } from '@noetl/core';
import { firstOf } from './config.js';
import { configurationError } from './errors.js';
import { natsFailure } from './nats-error.js';
import { type OutgoingMessage, outgoing } from './nats-message.js';
import type { ToolCall, ToolResult } from './tool.js';

const KIND = 'nats';
const ACK_MS = 5_000;
const WINDOW = 256;
const MAX_MESSAGES = 10_000;

/** Core NATS: told to whoever listens right now. */
export async function publish(connection: NatsConnection, { config }: ToolCall): Promise<ToolResult> {
  const messages = messagesOf(config);
  for (const { subject, body, headers, messageId } of messages) {
    if (messageId !== undefined) headers.set('Nats-Msg-Id', messageId);
    connection.publish(subject, body, { headers });
  }
  await connection.flush();
  return success({ published: messages.length });
}

/** JetStream: done when the stream has it. A step that is tried again publishes under the same message ids. */
export async function publishToStream(
  connection: NatsConnection,
  call: ToolCall,
  signal: AbortSignal,
): Promise<ToolResult> {
  const key = call.idempotencyKey ?? call.commandId;
  const stream = jetstream(connection, { timeout: ACK_MS });
  const send = ({ subject, body, headers, messageId }: OutgoingMessage, fallbackId: string): Promise<PubAck> =>
    stream.publish(subject, body, { headers, msgID: messageId ?? fallbackId, timeout: ACK_MS });

  const listed = firstOf(call.config, 'messages') !== undefined;
  const messages = messagesOf(call.config);
  const [only] = messages;
  if (!listed && only !== undefined) {
    const { stream: name, seq, duplicate } = await send(only, key);
    return success({ stream: name, seq, duplicate });
  }

  const acks: (PubAck | undefined)[] = [];
  const failed: { index: number; subject: string; error: string; retryable: boolean }[] = [];
  let next = 0;
  const publishNext = async (): Promise<void> => {
    while (next < messages.length) {
      signal.throwIfAborted();
      const index = next++;
      const message = messages[index];
      if (message === undefined) return;
      try {
        acks[index] = await send(message, `${key}:${index}`);
      } catch (error) {
        const { message: text, retryable } = natsFailure(error, message.subject);
        failed.push({ index, subject: message.subject, error: text, retryable });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(WINDOW, messages.length) }, publishNext));
  failed.sort((a, b) => a.index - b.index);
  const data = {
    published: messages.length - failed.length,
    duplicates: acks.filter((ack) => ack?.duplicate === true).length,
    failed,
  };
  const [first] = failed;
  if (first === undefined) return success(data);
  const error = `${failed.length} of ${messages.length} messages were not taken; the first: ${first.error}`;
  const retryable = failed.every((one) => one.retryable);
  return {
    status: 'error',
    data: { status: 'partial', ...data },
    error,
    error_info: { kind: 'server_error', retryable, code: 'NATS_PARTIAL', message: error, source: KIND },
  };
}

function messagesOf(config: JsonObject): OutgoingMessage[] {
  const given = firstOf(config, 'messages');
  if (given === undefined) return [outgoing(config, '')];
  if (!Array.isArray(given)) throw configurationError(KIND, 'messages must be a list of {subject, data, …}');
  if (given.length > MAX_MESSAGES) throw configurationError(KIND, `messages takes at most ${MAX_MESSAGES}`);
  return given.map((message, index) => {
    if (!isObject(message)) throw configurationError(KIND, `messages[${index}] must be a mapping`);
    return outgoing(message, `messages[${index}].`);
  });
}

function success(data: JsonObject): ToolResult {
  return { status: 'success', data: { status: 'success', ...data } };
}
