// Counters of the outbox, at zero from the start.
import { setTimeout as delay } from 'node:timers/promises';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Totals } from './backlog.js';

const PATIENCE_MS = 2_000;

export interface OutboxMetrics {
  claimed(rows: number): void;
  published(rows: number): void;
  failed(rows: number): void;
  recovered(rows: number): void;
  died(rows: number): void;
  callback(outcome: 'delivered' | 'failed'): void;
  /** What a scrape shows; read when somebody scrapes. */
  watch(read: () => Promise<Totals>): void;
}

export function createOutboxMetrics(registry: Registry): OutboxMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name, help, labelNames, registers });
  const claimed = counter('noetl_outbox_claimed_total', 'Outbox rows claimed');
  const published = counter('noetl_outbox_published_total', 'Outbox rows marked published');
  const failed = counter('noetl_outbox_failed_total', 'Outbox rows marked failed');
  const recovered = counter('noetl_outbox_recovered_total', 'Outbox rows taken back from an owner that was lost');
  const died = counter('noetl_outbox_dead_total', 'Outbox rows given up after the last attempt');
  const callbacks = counter('noetl_callbacks_total', 'Completion callbacks', ['outcome']);
  for (const outcome of ['delivered', 'failed']) callbacks.inc({ outcome }, 0);

  let levels: Totals = { pending: 0, failed: 0, in_flight: 0, expired: 0, dead: 0, oldest_seconds: 0 };
  let read: (() => Promise<Totals>) | undefined;
  let reading: Promise<void> | undefined;
  /** One look at the database for all gauges of a scrape. When it is away, the other metrics must still be shown: the last levels stay. */
  const refresh = () => {
    reading ??= (async () => {
      const late = delay(PATIENCE_MS, undefined, { ref: false });
      levels = (await Promise.race([read?.().catch(() => undefined), late])) ?? levels;
      reading = undefined;
    })();
    return reading;
  };
  const gauge = (name: string, help: string, value: (levels: Totals) => number) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        await refresh();
        this.set(value(levels));
      },
    });
  gauge('noetl_outbox_pending', 'Outbox rows that wait for delivery', (now) => now.pending + now.failed);
  gauge('noetl_outbox_in_flight', 'Outbox rows in the hands of a publisher', (now) => now.in_flight);
  gauge('noetl_outbox_expired', 'Outbox rows whose publisher did not mark them in time', (now) => now.expired);
  gauge('noetl_outbox_dead', 'Outbox rows that were given up', (now) => now.dead);
  gauge('noetl_outbox_oldest_seconds', 'Age of the oldest row that waits', (now) => now.oldest_seconds);

  return {
    claimed: (rows) => claimed.inc(rows),
    published: (rows) => published.inc(rows),
    failed: (rows) => failed.inc(rows),
    recovered: (rows) => recovered.inc(rows),
    died: (rows) => died.inc(rows),
    callback: (outcome) => callbacks.inc({ outcome }),
    watch(reader) {
      read = reader;
    },
  };
}
