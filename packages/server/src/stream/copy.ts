// Copies the log of a shard to the stream from where the cursor stands, until something is wrong or the term is over. The cursor passes an
// event only after JetStream has acknowledged it, so a crash at any moment repeats events and loses none.
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Shard } from '../db/index.js';
import { every } from '../periodic.js';
import { type Cursor, forStream, saveCursor, takeCursor, withMilestone } from './cursor.js';
import type { Doorbell } from './doorbell.js';
import { LeadLost, type Term } from './leadership.js';
import { MAX_BODY_BYTES } from './message.js';
import { type OutgoingEvent, type Position, readOutgoing } from './outgoing.js';
import { eventSender, type Sent } from './sender.js';
import type { EventStreamSettings } from './settings.js';
import { type Difference, ensureStream, eventStream, type FoundStream, findStream } from './streams.js';

export interface CopyOptions {
  readonly shard: Shard;
  readonly settings: EventStreamSettings;
  readonly connection: NatsConnection;
  readonly term: Term;
  /** Rings when something was committed. */
  readonly bell: Doorbell;
  publicUrl(): string;
  /** The stream is another one than before, or has lost messages: it is filled again from here. */
  onRefill(from: Position): void;
  onDifferences(differences: readonly Difference[]): void;
  onPublished(events: readonly OutgoingEvent[], last: OutgoingEvent): void;
  onClaimCheck(event: OutgoingEvent): void;
  /** The cursor was saved. */
  onSaved(): void;
}

const ASK_MS = 5_000;
/** How often the cursor is saved under load; what a crash repeats is far less than the dedup window covers. */
const SAVE_MS = 250;
const WATCH_MS = 2_000;
/** Room for subject and headers below a limit on the size of whole messages. */
const HEADER_BYTES = 8 * 1024;

export async function copyLog(options: CopyOptions): Promise<never> {
  const { shard, settings, connection, term, bell } = options;
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS });
  const wanted = eventStream(settings);
  const stream = await ensureStream(manager, wanted);
  options.onDifferences(stream.differences);

  let cursor = await beginAt(options, stream);
  const lost = new AbortController();
  const watch = every(
    WATCH_MS,
    async () => {
      const now = await findStream(manager, wanted);
      if (now?.created !== stream.created) lost.abort(new Error('the stream noetl_events was deleted'));
      else options.onDifferences(now.differences);
    },
    () => undefined, // when NATS does not answer, the publishes say so
  );
  const maxBytes = largestBody(connection, stream);
  const sender = eventSender({ ...options, manager, maxBytes });
  const over = AbortSignal.any([term.over, lost.signal]);

  const save = async (sent: Sent | undefined) => {
    if (sent === undefined || sent.position === cursor.position) return;
    const { position, eventId } = sent;
    const moved = { ...cursor, position, eventId, sequence: Math.max(cursor.sequence, sent.sequence) };
    const next = withMilestone(moved, settings.retentionMs, new Date());
    await saveOrLeave(shard, term, next);
    cursor = next;
    options.onSaved();
  };
  const read = (after: Position) => {
    bell.listen();
    const reading = readOutgoing(shard.pool, after, { batch: settings.batch, maxBytes });
    reading.catch(() => undefined); // seen when it is awaited, if it ever is
    return reading;
  };

  try {
    let savedAt = performance.now();
    let position = cursor.position;
    let reading = read(position);
    for (;;) {
      const events = await reading;
      term.check();
      over.throwIfAborted();
      const last = events.at(-1);
      if (last === undefined) {
        await save(await sender.settled());
        await bell.rung(settings.pollMs, over);
        reading = read(position);
        continue;
      }
      position = last.position;
      reading = read(position); // runs while these are published
      const sent = await sender.send(events);
      if (performance.now() - savedAt > SAVE_MS) {
        await save(sent);
        savedAt = performance.now();
      }
    }
  } catch (error) {
    // What JetStream has by now need not be sent again.
    if (!(error instanceof LeadLost))
      await sender
        .settled()
        .then(save, () => undefined)
        .catch(() => undefined);
    throw error;
  } finally {
    sender.close();
    await watch.stop();
  }
}

/** Takes the cursor over from whoever led before, and makes it one of this stream. */
async function beginAt(
  { shard, settings, term, onRefill, onSaved }: CopyOptions,
  stream: FoundStream,
): Promise<Cursor> {
  const taken = await takeCursor(shard.pool, term.token);
  if (taken === undefined) throw new LeadLost('a newer leader has the cursor');
  const cursor = forStream(taken, stream, settings.retentionMs, new Date());
  if (cursor.position !== taken.position) onRefill(cursor.position);
  await saveOrLeave(shard, term, cursor);
  onSaved();
  return cursor;
}

async function saveOrLeave(shard: Shard, term: Term, cursor: Cursor): Promise<void> {
  if (!(await saveCursor(shard.pool, term.token, cursor))) throw new LeadLost('a newer leader has the cursor');
}

function largestBody({ info }: NatsConnection, { maxMessageBytes }: FoundStream): number {
  const limits = [info?.max_payload, maxMessageBytes].filter((limit) => limit !== undefined);
  return Math.min(MAX_BODY_BYTES, ...limits.map((limit) => limit - HEADER_BYTES));
}
