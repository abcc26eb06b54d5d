// How much is not delivered yet, added up.
import type { OutboxStatus } from './model.js';
import type { ShardBacklog } from './outbox.js';

export interface Totals {
  readonly pending: number;
  readonly failed: number;
  readonly in_flight: number;
  /** Of those in flight: their owner is lost. */
  readonly expired: number;
  readonly dead: number;
  /** Age of the oldest row that waits. */
  readonly oldest_seconds: number;
}

export function totals(shards: readonly ShardBacklog[]): Totals {
  const topics = shards.flatMap((shard) => shard.topics);
  const rows = (status: OutboxStatus) =>
    topics.filter((topic) => topic.status === status).reduce((sum, topic) => sum + topic.rows, 0);
  const waiting = topics.filter((topic) => topic.status === 'PENDING' || topic.status === 'FAILED');
  return {
    pending: rows('PENDING'),
    failed: rows('FAILED'),
    in_flight: rows('IN_FLIGHT'),
    expired: topics.reduce((sum, topic) => sum + topic.expired, 0),
    dead: rows('DEAD'),
    oldest_seconds: Math.max(0, ...waiting.map((topic) => topic.oldest_seconds)),
  };
}
