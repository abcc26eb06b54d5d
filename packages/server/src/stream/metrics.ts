// Metrics of the streams, registered at zero. Event types are chosen by producers, so the label is bounded.
import { Counter, Gauge, type Registry } from 'prom-client';
import { boundedType } from '../observability/index.js';
import type { OutgoingEvent } from './outgoing.js';

export interface StreamMetrics {
  published(events: readonly OutgoingEvent[], last: OutgoingEvent): void;
  /** Too large for a message: a claim check was published instead. */
  skipped(type: string): void;
  failed(): void;
  leads(shard: string, leading: boolean): void;
  notified(outcome: 'published' | 'failed', count: number): void;
}

const USUAL_TYPES = [
  'playbook_started',
  'playbook.completed',
  'playbook.failed',
  'step.enter',
  'step.exit',
  'command.issued',
  'command.claimed',
  'command.started',
  'command.completed',
  'command.failed',
  'call.done',
  'call.error',
];

/** `lagSeconds` is asked at every scrape; a shard that cannot tell keeps its last figure. */
export function createStreamMetrics(
  registry: Registry,
  shards: readonly string[],
  lagSeconds: (shard: string) => Promise<number>,
): StreamMetrics {
  const registers = [registry];
  const published = new Counter({
    name: 'noetl_event_stream_published_total',
    help: 'Events that JetStream has acknowledged',
    labelNames: ['event_type'],
    registers,
  });
  const skipped = new Counter({
    name: 'noetl_event_stream_skipped_total',
    help: 'Events too large for a message, published as a claim check',
    labelNames: ['event_type'],
    registers,
  });
  const cursor = new Gauge({ name: 'noetl_event_stream_cursor', help: 'Newest event id that has left', registers });
  const failures = new Counter({
    name: 'noetl_event_stream_failures_total',
    help: 'Times the stream stood still',
    registers,
  });
  const leader = new Gauge({
    name: 'noetl_event_stream_leader',
    help: '1 while this server copies the log of the shard',
    labelNames: ['shard'],
    registers,
  });
  new Gauge({
    name: 'noetl_event_stream_lag_seconds',
    help: 'Age of the oldest event that has not left',
    labelNames: ['shard'],
    registers,
    async collect() {
      const ages = await Promise.all(shards.map((shard) => lagSeconds(shard).catch(() => undefined)));
      for (const [index, shard] of shards.entries()) {
        const age = ages[index];
        if (age !== undefined) this.set({ shard }, age);
      }
    },
  });
  const notified = new Counter({
    name: 'noetl_command_notifications_total',
    help: 'Notifications of commands on NATS',
    labelNames: ['outcome'],
    registers,
  });
  for (const event_type of USUAL_TYPES) {
    published.inc({ event_type }, 0);
    skipped.inc({ event_type }, 0);
  }
  for (const shard of shards) leader.set({ shard }, 0);
  for (const outcome of ['published', 'failed']) notified.inc({ outcome }, 0);

  return {
    published(events, last) {
      const counts = new Map<string, number>();
      for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1);
      for (const [type, count] of counts) published.inc({ event_type: boundedType(type) }, count);
      cursor.set(Number(last.eventId));
    },
    skipped: (type) => skipped.inc({ event_type: boundedType(type) }),
    failed: () => failures.inc(),
    leads: (shard, leading) => leader.set({ shard }, leading ? 1 : 0),
    notified: (outcome, count) => notified.inc({ outcome }, count),
  };
}
