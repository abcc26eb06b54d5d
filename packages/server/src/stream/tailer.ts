// Keeps the stream `noetl_events` up to date with the log of one shard. Of all servers one does it at a time, and nothing that happens here
// harms a server: NATS away, stream deleted or full, lead lost are all waited out, for ever if need be.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Shard } from '../db/index.js';
import type { NatsLink, NatsSession } from './connection.js';
import { copyLog } from './copy.js';
import { createCursor, saveFailure, TAILER } from './cursor.js';
import { doorbell } from './doorbell.js';
import { asLeader, LeadLost, type Term } from './leadership.js';
import type { StreamMetrics } from './metrics.js';
import type { EventStreamSettings } from './settings.js';
import type { Difference } from './streams.js';

export interface TailerOptions {
  readonly shard: Shard;
  readonly link: NatsLink;
  readonly holder: string;
  readonly settings: EventStreamSettings;
  readonly metrics: StreamMetrics;
  readonly log: Logger;
  /** Where consumers fetch what is too large for a message. */
  publicUrl(): string;
}

export interface Tailer {
  /** Something was committed: look now instead of at the next poll. */
  wake(): void;
  /** Finishes what is under way, saves the cursor, gives the lead back. */
  close(): Promise<void>;
}

/** Between two tries to become leader; with the lease it bounds how long the stream stands still when a leader dies. */
const CANDIDATE_MS = 1_000;
const LONGEST_RETRY_MS = 5_000;

export function startTailer(options: TailerOptions): Tailer {
  const { shard, link, settings, metrics, publicUrl } = options;
  const log = options.log.child({ shard: shard.name });
  const closing = new AbortController();
  const bell = doorbell();
  // What was logged last: an outage of a night must not fill the disk.
  let reported = '';
  let reportedDifferences = '';

  const report = (error: unknown): string => {
    const message = error instanceof Error ? error.message : String(error);
    metrics.failed();
    if (message !== reported) log.warn({ reason: message }, 'the event stream stands still; it is tried again');
    reported = message;
    return message;
  };

  const reportDifferences = (differences: readonly Difference[]) => {
    const text = JSON.stringify(differences);
    if (text === reportedDifferences) return;
    reportedDifferences = text;
    if (differences.length === 0) return;
    log.warn({ differences }, 'the stream noetl_events differs from the settings; it is left as it is');
  };

  const run = async () => {
    while (!closing.signal.aborted) {
      try {
        // Before NATS answers: what is committed while it is away belongs to the stream, too.
        await createCursor(shard.pool, settings.backfill);
        const session = await link.connected(closing.signal);
        await stand(session, AbortSignal.any([session.ended, closing.signal]));
      } catch (error) {
        if (closing.signal.aborted) return;
        report(error);
        await pause(CANDIDATE_MS, closing.signal);
      }
    }
  };

  /** Stands for leader as long as NATS can be reached: a leader that cannot reach it would only be in the way. */
  const stand = async (session: NatsSession, until: AbortSignal) => {
    const candidate = { pool: shard.pool, name: TAILER, holder: options.holder, until };
    while (!until.aborted) {
      if (!(await asLeader(candidate, (term) => serve(session, term)))) await pause(CANDIDATE_MS, until);
    }
  };

  /** As leader: every failure is waited out, and the copy goes on from the cursor as it was saved last. */
  const serve = async ({ connection }: NatsSession, term: Term) => {
    log.info('leads the event stream');
    metrics.leads(shard.name, true);
    let failures = 0;
    while (!term.over.aborted) {
      try {
        await copyLog({
          shard,
          settings,
          connection,
          term,
          bell,
          publicUrl,
          onRefill: (from) => log.warn({ from }, 'the stream noetl_events has lost its messages: it is filled again'),
          onDifferences: reportDifferences,
          onPublished: metrics.published,
          onClaimCheck({ executionId, eventId, type, bytes }) {
            metrics.skipped(type);
            log.warn({ execution_id: executionId, event_id: eventId, bytes }, 'event too large: a claim check leaves');
          },
          onSaved() {
            failures = 0;
            reported = '';
          },
        });
      } catch (error) {
        if (term.over.aborted || error instanceof LeadLost) break;
        await saveFailure(shard.pool, term.token, report(error)).catch(() => undefined);
        await pause(Math.min(LONGEST_RETRY_MS, settings.pollMs * 2 ** Math.min(failures++, 10)), term.over);
      }
    }
    metrics.leads(shard.name, false);
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal }).catch(() => undefined);
}
