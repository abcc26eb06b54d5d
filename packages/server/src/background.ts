// The work that nobody asks for: what a server does by itself, again and again, from its start to its end. Several servers do it side by
// side; what only one of them may do is behind a leader lease.
import type { Logger } from 'pino';
import type { Catalog } from './catalog/index.js';
import { type CleanupDeps, purge } from './cleanup/index.js';
import { type CommandQueue, endDue, refill, requeueExpired } from './commands/index.js';
import type { ServerConfig } from './config.js';
import { eachShard, ensurePartitions, lead, type MachineLease, type Pools, type Shard } from './db/index.js';
import { createChildStarter, type Rerunner } from './executions/index.js';
import type { Log, Snapshots } from './log/index.js';
import { deliverMessages } from './messages/index.js';
import type { Metrics } from './observability/index.js';
import { runOperations } from './operations/index.js';
import { deliverCallbacks, type Outbox, type OutboxMetrics } from './outbox/index.js';
import { every, type Periodic, together } from './periodic.js';
import { sweepResults } from './results/index.js';
import { markOffline } from './runtime/index.js';

export const MACHINE_LEASE_MS = 60_000;
const LEADER_LEASE_MS = 15_000;

export interface BackgroundOptions {
  readonly config: ServerConfig;
  readonly pools: Pools;
  readonly log: Log;
  readonly queue: CommandQueue;
  readonly catalog: Catalog;
  readonly rerunner: Rerunner;
  readonly snapshots: Snapshots;
  readonly outbox: Outbox;
  readonly outboxMetrics: OutboxMetrics;
  readonly cleanup: CleanupDeps;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Names this server among those that share the databases. */
  readonly owner: string;
  readonly machine: MachineLease;
  /** Ends the server. */
  stop(): void;
}

/** What happens elsewhere and makes some of the work due now. */
export interface Background {
  commandsWanted(): void;
  commandsGivenBack(): void;
  messagesPosted(): void;
  operationMade(): void;
  stop(): Promise<void>;
}

export function startBackground(options: BackgroundOptions): Background {
  const { config, pools, log, queue, catalog, rerunner, snapshots, outbox, metrics, logger, owner, machine } = options;
  const onError = (task: string) => (error: unknown) =>
    logger.warn({ err: error, task }, 'background task failed; it is tried again');
  const onEveryShard = (task: string, intervalMs: number, work: (shard: Shard) => Promise<void>) =>
    together(pools.shards.map((shard) => every(intervalMs, () => work(shard), onError(`${task} ${shard.name}`))));
  // Shards whose table may hold ready commands that the queue does not: after a start, and when a command was given back.
  const unseen = new Set(pools.shards);
  const refiller = onEveryShard('refill', 1_000, async (shard) => {
    if (await refill(shard, queue)) unseen.delete(shard);
  });
  const couriers = { log, children: createChildStarter({ log, catalog }), logger };
  const courier = onEveryShard('courier', 1_000, async (shard) => {
    while (await deliverMessages(couriers, shard));
  });
  const operations = every(
    2_000,
    async () => {
      while (await runOperations({ log, pools, rerunner, logger }));
    },
    onError('operations'),
  );
  const sweepMs = Math.min(LEADER_LEASE_MS / 3, Math.max(250, config.leaseMs / 4));
  const tasks: Periodic[] = [
    refiller,
    courier,
    operations,
    onEveryShard('deadlines', 500, async (shard) => {
      while (await endDue(shard, log, logger));
    }),
    every(
      MACHINE_LEASE_MS / 3,
      async () => {
        if (await machine.renew()) return;
        // Another process mints ids with our number now: two events could get the same id.
        logger.fatal('the machine id lease was lost; this server stops');
        process.exitCode = 1;
        // Not awaited: closing waits for this very task.
        options.stop();
      },
      onError('machine-lease'),
    ),
    every(
      sweepMs,
      async () => {
        // Three rounds: after a crash another server sweeps soon, in proportion to what a lost lease waits anyway.
        if ((await lead(pools.cluster, 'sweeper', owner, 3 * sweepMs)) === undefined) return;
        await markOffline(pools.cluster, config.offlineSeconds);
        metrics.leasesExpired(await requeueExpired(pools, log, logger));
      },
      onError('sweeper'),
    ),
    every(
      3_600_000,
      () => eachShard(pools, (shard) => ensurePartitions(shard.pool, new Date())),
      onError('partitions'),
    ),
    every(1_000, () => snapshots.flush(), onError('snapshots')),
    every(60_000, () => sweepResults(pools), onError('results')),
  ];

  const { intervalMs: cleanupMs, policy: cleanupPolicy } = config.cleanup;
  if (cleanupMs > 0) {
    // The lease lasts as long as the interval: of several servers one cleans up, not each in its turn.
    const cleanUp = async () => {
      const leads = (await lead(pools.cluster, 'cleanup', owner, Math.max(cleanupMs, LEADER_LEASE_MS))) !== undefined;
      if (leads) await purge(options.cleanup, cleanupPolicy);
    };
    tasks.push(every(cleanupMs, cleanUp, onError('cleanup')));
  }
  if (config.callbacks.secret !== undefined) {
    const delivery = { outbox, settings: config.callbacks, metrics: options.outboxMetrics, logger, owner };
    const callbacks = every(
      1_000,
      async () => {
        if (await deliverCallbacks(delivery)) callbacks.soon();
      },
      onError('callbacks'),
    );
    tasks.push(callbacks);
  }

  return {
    commandsWanted() {
      if (unseen.size > 0) refiller.soon();
    },
    commandsGivenBack() {
      for (const shard of pools.shards) unseen.add(shard);
      refiller.soon();
    },
    messagesPosted: () => courier.soon(),
    operationMade: () => operations.soon(),
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()));
    },
  };
}
