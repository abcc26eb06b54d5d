// The outbox over all shards: one set of rows to whoever claims, marks or looks.
import { compareIds, type Id } from '@noetl/core';
import type { Pools, Shard } from '../db/index.js';
import { storableError } from './backoff.js';
import type { OutboxMetrics } from './metrics.js';
import type { Audience, OutboxRow } from './model.js';
import { fromOutboxId, toOutboxId } from './shard-ids.js';
import {
  claimRows,
  type DeadRow,
  deadRows,
  type LocalMark,
  markFailed,
  markPublished,
  pendingCount,
  recoverStale,
  reviveDead,
  type TopicCount,
  undelivered,
} from './store.js';

const RECOVER_EVERY_MS = 1_000;

export interface OutboxSettings {
  /** How long a claim lasts unless the claimer says otherwise. */
  readonly leaseMs: number;
  readonly maxAttempts: number;
}

export interface Mark {
  readonly outboxId: Id;
  /** The token of the claim. Without it the mark is not fenced. */
  readonly token?: number | undefined;
}

export interface Outbox {
  /** Oldest first. Rows that nobody marks before the lease ends go to somebody else. */
  claim(options: { audience: Audience; limit: number; owner: string; leaseMs?: number }): Promise<OutboxRow[]>;
  /** How many rows were marked; a token that is no longer the row's marks nothing. */
  markPublished(marks: readonly Mark[]): Promise<number>;
  /** Undefined when nothing changed. */
  markFailed(mark: Mark & { error: string; delaySeconds: number }): Promise<'FAILED' | 'DEAD' | undefined>;
  /** What publishers could claim now. */
  pending(): Promise<number>;
  /** Dead rows are tried again with a fresh count; without ids, all of them. */
  revive(ids?: readonly Id[]): Promise<number>;
  backlog(): Promise<ShardBacklog[]>;
  dead(limit: number): Promise<DeadRow[]>;
}

export interface ShardBacklog {
  readonly shard: string;
  readonly topics: readonly TopicCount[];
}

export function createOutbox(options: { pools: Pools; settings: OutboxSettings; metrics: OutboxMetrics }): Outbox {
  const { settings, metrics } = options;
  const { shards } = options.pools;
  let turn = 0;

  /** A busy shard must not starve the others: each claim begins at the next one. */
  const inTurn = (): Shard[] => {
    const first = turn++ % shards.length;
    return [...shards.slice(first), ...shards.slice(0, first)];
  };

  const byShard = <T extends { outboxId: Id }>(items: readonly T[]): Map<Shard, (T & { local: Id })[]> => {
    const grouped = new Map<Shard, (T & { local: Id })[]>();
    for (const item of items) {
      const { shard: index, id: local } = fromOutboxId(item.outboxId, shards.length);
      const shard = shards[index];
      if (shard === undefined) continue;
      const list = grouped.get(shard) ?? [];
      list.push({ ...item, local });
      grouped.set(shard, list);
    }
    return grouped;
  };

  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const outside = (shard: Shard, id: Id): Id => toOutboxId({ shard: shard.index, id }, shards.length);

  /** When each shard was last searched for rows whose owner is lost. Not before every claim: it would be a third of its cost. */
  const searched = new Map<Shard, number>();

  /** How many rows can be claimed again; undefined when this shard was searched a moment ago. */
  async function recover(shard: Shard, atMostEveryMs: number): Promise<number | undefined> {
    const now = performance.now();
    if (now - (searched.get(shard) ?? Number.NEGATIVE_INFINITY) < atMostEveryMs) return undefined;
    searched.set(shard, now);
    const { recovered, dead } = await recoverStale(shard.pool, settings);
    metrics.recovered(recovered);
    metrics.died(dead);
    return recovered;
  }

  return {
    async claim({ audience, limit, owner, leaseMs = settings.leaseMs }) {
      const rows: OutboxRow[] = [];
      const take = async (shard: Shard) => {
        const claimed = await claimRows(shard.pool, { audience, limit: limit - rows.length, owner, leaseMs });
        rows.push(...claimed.map((row) => ({ ...row, outbox_id: outside(shard, row.outbox_id) })));
      };
      const errors: unknown[] = [];
      for (const shard of inTurn()) {
        try {
          const recovered = await recover(shard, RECOVER_EVERY_MS);
          await take(shard);
          if (rows.length >= limit) break;
          // Whoever asks for more than there is gets what others have lost.
          if (recovered === undefined && (await recover(shard, 0)) !== 0) await take(shard);
        } catch (error) {
          errors.push(error);
        }
      }
      // A shard that is away does not take back what the others gave: it would stay claimed by nobody until the lease ends.
      if (rows.length === 0 && errors.length > 0) throw errors[0];
      metrics.claimed(rows.length);
      return rows.sort((a, b) => compareIds(a.outbox_id, b.outbox_id));
    },
    async markPublished(marks) {
      const counts = await Promise.all(
        [...byShard(marks)].map(([shard, list]) =>
          markPublished(
            shard.pool,
            list.map(({ local, token }): LocalMark => ({ id: local, token })),
          ),
        ),
      );
      metrics.published(sum(counts));
      return sum(counts);
    },
    async markFailed({ outboxId, token, error, delaySeconds }) {
      const { shard: index, id } = fromOutboxId(outboxId, shards.length);
      const shard = shards[index];
      if (shard === undefined) return undefined;
      const { maxAttempts } = settings;
      const status = await markFailed(shard.pool, {
        id,
        token,
        error: storableError(error),
        delaySeconds,
        maxAttempts,
      });
      if (status !== undefined) metrics.failed(1);
      if (status === 'DEAD') metrics.died(1);
      return status;
    },
    pending: async () => sum(await Promise.all(shards.map((shard) => pendingCount(shard.pool, settings.leaseMs)))),
    async revive(ids) {
      if (ids === undefined) return sum(await Promise.all(shards.map((shard) => reviveDead(shard.pool, undefined))));
      const grouped = byShard(ids.map((outboxId) => ({ outboxId })));
      const counts = [...grouped].map(([shard, list]) =>
        reviveDead(
          shard.pool,
          list.map(({ local }) => local),
        ),
      );
      return sum(await Promise.all(counts));
    },
    backlog: () =>
      Promise.all(shards.map(async (shard) => ({ shard: shard.name, topics: await undelivered(shard.pool) }))),
    async dead(limit) {
      const found = await Promise.all(
        shards.map(async (shard) =>
          (await deadRows(shard.pool, limit)).map((row) => ({ ...row, outbox_id: outside(shard, row.outbox_id) })),
        ),
      );
      return found
        .flat()
        .sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
        .slice(0, limit);
    },
  };
}
