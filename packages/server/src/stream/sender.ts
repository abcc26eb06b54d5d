// Sends batches of events to the stream. Two batches are on their way at most: one is being sent while the answers to the one before arrive.
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { ackedPublisher } from './acks.js';
import { eventMessage, isMessageOf } from './message.js';
import type { OutgoingEvent, Position } from './outgoing.js';
import { EVENT_STREAM } from './streams.js';
import { publishWindow } from './window.js';

/** How far JetStream has acknowledged. */
export interface Sent {
  readonly position: Position;
  readonly eventId: string;
  /** Highest number that the stream has given to a message of ours. */
  readonly sequence: number;
}

export interface EventSender {
  /** Resolves when the batch is under way, with what was acknowledged before it; undefined when that was nothing. */
  send(events: readonly OutgoingEvent[]): Promise<Sent | undefined>;
  /** Resolves when everything is acknowledged; undefined when nothing was sent. */
  settled(): Promise<Sent | undefined>;
  close(): void;
}

export interface SenderOptions {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly maxBytes: number;
  /** Where consumers fetch what is too large for a message. */
  publicUrl(): string;
  onPublished(events: readonly OutgoingEvent[], last: OutgoingEvent): void;
  onClaimCheck(event: OutgoingEvent): void;
}

/** JetStream answers in order: more would only wait in its queue instead of in ours. */
const IN_FLIGHT = { messages: 1_024, bytes: 4 * 1024 * 1024 };
/** Long enough for a slow line to carry a full window. A connection that breaks is noticed at once. */
const ACK_MS = 10_000;

export function eventSender(options: SenderOptions): EventSender {
  const { manager, maxBytes } = options;
  const publisher = ackedPublisher(options.connection, ACK_MS);
  const window = publishWindow(IN_FLIGHT);
  let sequence = 0;
  let before: Promise<Sent> | undefined;

  const publish = async (subject: string, body: Uint8Array, id: string) => {
    const ack = await publisher.publish(subject, body, id);
    // Only while ours is gone another stream can take its subjects.
    if (ack.stream !== EVENT_STREAM) throw new Error(`stream ${ack.stream} took a message of ${EVENT_STREAM}`);
    sequence = Math.max(sequence, ack.seq);
    return ack;
  };

  const publishEvent = async (event: OutgoingEvent, subject: string, body: Uint8Array) => {
    const ack = await publish(subject, body, event.eventId);
    if (ack.duplicate === true && !(await isStored(manager, ack.seq, event))) {
      await publish(subject, body, `${event.executionId}/${event.eventId}`);
    }
  };

  const acknowledged = async (events: readonly OutgoingEvent[], last: OutgoingEvent): Promise<Sent> => {
    await window.acknowledged();
    options.onPublished(events, last);
    return { position: last.position, eventId: last.eventId, sequence };
  };

  return {
    async send(events) {
      const url = options.publicUrl();
      for (const event of events) {
        const { subject, body, claimCheck } = eventMessage(event, { maxBytes, url });
        if (claimCheck) options.onClaimCheck(event);
        while (window.isFull(body.length)) await window.room();
        window.add(body.length, publishEvent(event, subject, body));
      }
      const earlier = before;
      const last = events.at(-1);
      if (last !== undefined) {
        before = acknowledged(events, last);
        before.catch(() => undefined); // seen by the next call
      }
      return await earlier;
    },
    settled: async () => await before,
    close: () => publisher.close(),
  };
}

/**
 * JetStream says it has a message of this id. Producers may choose event ids, and two executions may have chosen the same: then it is another
 * event that it has, and ours would be missing.
 */
async function isStored(manager: JetStreamManager, seq: number, event: OutgoingEvent): Promise<boolean> {
  const stored = await manager.streams.getMessage(EVENT_STREAM, { seq });
  return stored === null || isMessageOf(stored.string(), event.executionId);
}
