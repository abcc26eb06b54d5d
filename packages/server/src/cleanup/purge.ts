// One round of cleaning up, over all databases.
import type { Logger } from 'pino';
import type { Pools } from '../db/index.js';
import type { CleanupMetrics } from './metrics.js';
import { type DroppedPartitions, dropOldPartitions } from './partitions.js';
import type { CleanupPolicy } from './policy.js';
import { countOld, deleteOld, type PurgedTable, RULES } from './rules.js';

export interface CleanupDeps {
  readonly pools: Pools;
  readonly metrics: CleanupMetrics;
  readonly logger: Logger;
}

export interface Purged {
  readonly rows: ReadonlyMap<PurgedTable, number>;
  readonly partitions: DroppedPartitions;
}

/** A table or a shard that cannot be cleaned does not keep the others from it; its error is thrown at the end. */
export async function purge({ pools, metrics, logger }: CleanupDeps, policy: CleanupPolicy): Promise<Purged> {
  const rows = new Map<PurgedTable, number>();
  const errors: unknown[] = [];
  const add = (table: PurgedTable, count: number) => {
    rows.set(table, (rows.get(table) ?? 0) + count);
    if (!policy.dry_run) metrics.purged(table, count);
  };
  for (const rule of RULES) {
    const age = rule.age(policy);
    if (age === undefined) continue;
    for (const pool of rule.on === 'cluster' ? [pools.cluster] : pools.shards.map((shard) => shard.pool)) {
      try {
        add(rule.table, await (policy.dry_run ? countOld : deleteOld)(pool, rule, age));
      } catch (error) {
        errors.push(error);
      }
    }
  }
  const partitions: DroppedPartitions = { dropped: [], kept: [], executions: 0 };
  if (policy.event_retention_days > 0) {
    const options = { days: policy.event_retention_days, now: Date.now(), dryRun: policy.dry_run, logger };
    for (const shard of pools.shards) {
      try {
        const report = await dropOldPartitions(shard, options);
        partitions.dropped.push(...report.dropped);
        partitions.kept.push(...report.kept);
        partitions.executions += report.executions;
      } catch (error) {
        errors.push(error);
      }
    }
    add('event_partition', partitions.dropped.length);
    add('execution', partitions.executions);
  }
  logger.info({ purged: Object.fromEntries(rows), partitions, dry_run: policy.dry_run }, 'cleaned up');
  if (errors.length > 0) throw errors[0];
  return { rows, partitions };
}
