// Carries outbox rows to NATS: notifications of commands, and mirrored events. Every server may run it: a row belongs to whoever claimed it,
// and a mark from a claim that was lost changes nothing. A row that is published twice carries the same message id both times.
import { setTimeout as delay } from 'node:timers/promises';
import { type JetStreamClient, jetstreamManager } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { isObject, type Json, stringifyJson } from '@noetl/core';
import type { Logger } from 'pino';
import { backoffSeconds, type Outbox, type OutboxRow } from '../outbox/index.js';
import type { NatsLink } from './connection.js';
import { doorbell } from './doorbell.js';
import type { StreamMetrics } from './metrics.js';
import { ensureStream, type WantedStream } from './streams.js';
import { isSubject } from './subject.js';

export type OutboxSource = Pick<Outbox, 'claim' | 'markPublished' | 'markFailed'>;

export interface PublisherOptions {
  readonly outbox: OutboxSource;
  readonly link: NatsLink;
  readonly owner: string;
  /** Where the rows go. */
  readonly streams: readonly WantedStream[];
  readonly metrics: StreamMetrics;
  readonly log: Logger;
}

export interface Publisher {
  /** Rows may have been written: look now. */
  wake(): void;
  close(): Promise<void>;
}

/** All of a claim is published at once and then marked at once: two statements for so many rows. */
const CLAIM = 256;
const POLL_MS = 500;
const ACK_MS = 5_000;
/** A notification that its publisher took to the grave is of no use much later. */
const LEASE_MS = 30_000;
const RETRY_MS = 1_000;
const LONGEST_BACKOFF_SECONDS = 60;

export function startPublisher({ outbox, link, owner, streams, metrics, log }: PublisherOptions): Publisher {
  const closing = new AbortController();
  const bell = doorbell();
  let reported = '';

  const run = async () => {
    while (!closing.signal.aborted) {
      try {
        const session = await link.connected(closing.signal);
        const manager = await jetstreamManager(session.connection, { checkAPI: false, timeout: ACK_MS });
        for (const stream of streams) await ensureStream(manager, stream);
        await drain(manager.jetstream(), AbortSignal.any([closing.signal, session.ended]));
      } catch (error) {
        if (closing.signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        if (message !== reported) log.warn({ reason: message }, 'notifications stand still; they are tried again');
        reported = message;
        await delay(RETRY_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
  };

  /** Until NATS is gone, or refuses something: then the stream may be missing. */
  const drain = async (stream: JetStreamClient, over: AbortSignal) => {
    while (!over.aborted) {
      bell.listen();
      const rows = await outbox.claim({ audience: 'publishers', limit: CLAIM, owner, leaseMs: LEASE_MS });
      if (rows.length > 0) await deliver(stream, rows);
      reported = '';
      if (rows.length < CLAIM) await bell.rung(POLL_MS, over);
    }
  };

  const deliver = async (stream: JetStreamClient, rows: readonly OutboxRow[]) => {
    const results = await Promise.allSettled(rows.map((row) => publish(stream, row)));
    const failed = rows.flatMap((row, index) => {
      const result = results[index];
      return result?.status === 'rejected' ? [{ row, error: String(result.reason) }] : [];
    });
    const published = rows.filter((_row, index) => results[index]?.status === 'fulfilled');
    if (published.length > 0) await outbox.markPublished(published.map(markOf));
    metrics.notified('published', published.length);
    metrics.notified('failed', failed.length);
    for (const { row, error } of failed) {
      await outbox.markFailed({
        ...markOf(row),
        error,
        delaySeconds: backoffSeconds(row.attempts, LONGEST_BACKOFF_SECONDS),
      });
    }
    const [first] = failed;
    if (first !== undefined) throw new Error(first.error);
  };

  const running = run();
  return {
    wake: bell.ring,
    async close() {
      closing.abort();
      await running;
    },
  };
}

function markOf(row: OutboxRow) {
  return { outboxId: row.outbox_id, token: row.lock_token };
}

async function publish(stream: JetStreamClient, row: OutboxRow): Promise<void> {
  // NATS would end the connection, and with it everything else that is under way.
  if (row.subject === null || !isSubject(row.subject)) throw new Error(`'${row.subject}' is no subject`);
  await stream.publish(row.subject, stringifyJson(row.payload), {
    msgID: row.msg_id,
    headers: natsHeaders(row.headers),
    timeout: ACK_MS,
  });
}

function natsHeaders(given: Json): MsgHdrs {
  const all = headers();
  if (!isObject(given)) return all;
  for (const [name, value] of Object.entries(given)) if (typeof value === 'string') all.set(name, value);
  return all;
}
