// Wires the control plane together and keeps its background work going. Everything it starts, `close` stops.
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createSnowflake, type Id, type World } from '@noetl/core';
import type { Logger } from 'pino';
import { catalogRoutes, createCatalog } from './catalog/index.js';
import { cleanupRoutes, createCleanupMetrics, purge } from './cleanup/index.js';
import {
  commandRoutes,
  createCommandQueue,
  createLeaseDesk,
  createReporter,
  endDue,
  readyFromOffer,
  refill,
  requeueExpired,
} from './commands/index.js';
import type { ServerConfig } from './config.js';
import {
  eachShard,
  ensurePartitions,
  isTransient,
  lead,
  openPools,
  type Pools,
  resign,
  type Shard,
  takeMachineLease,
} from './db/index.js';
import {
  createChildStarter,
  createRerunner,
  createStarter,
  executionRoutes,
  rerunRoutes,
  signalRoutes,
  startRoutes,
} from './executions/index.js';
import { createApp, healthRoutes, isLoopbackName } from './http/index.js';
import { containerCallbackRoutes, guardInternal, INTERNAL_TOKEN, isInternal } from './internal/index.js';
import { type Committed, createLog, createSnapshots, eventRoutes } from './log/index.js';
import { deliverMessages } from './messages/index.js';
import { objectRoutes } from './objects/index.js';
import { createLogger, createMetrics } from './observability/index.js';
import { operationRoutes, runOperations } from './operations/index.js';
import {
  createOutbox,
  createOutboxMetrics,
  deliverCallbacks,
  outboxRoutes,
  outboxRowsOf,
  totals,
} from './outbox/index.js';
import { every, type Periodic, together } from './periodic.js';
import { createProjectionMetrics, projectionRoutes } from './projection/index.js';
import { createReplayMetrics, replayRoutes } from './replay/index.js';
import { resolverOf, resultRoutes, sweepResults } from './results/index.js';
import { liveWorkers, markOffline, runtimeRoutes } from './runtime/index.js';
import { prepareDatabases, shardRoutes } from './shards/index.js';
import { lagSeconds, startMessaging } from './stream/index.js';
import { createSubscriptions, subscriptionRoutes } from './subscriptions/index.js';
import { VERSION } from './version.js';

export interface Server {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, finishes what was accepted, lets go of all leases. */
  close(): Promise<void>;
}

const MACHINE_LEASE_MS = 60_000;
const LEADER_LEASE_MS = 15_000;
/** How long requests that are under way may take when the server stops. */
const CLOSE_PATIENCE_MS = 5_000;

export async function startServer(
  config: ServerConfig,
  logger: Logger = createLogger(config.logLevel),
): Promise<Server> {
  const pools = openPools({
    ...config,
    onIdleError: (error) => logger.warn({ err: error }, 'a database connection broke'),
  });
  try {
    await prepareDatabases(pools, config, {
      onMigrated: (database, applied) => logger.info({ database, applied }, 'database migrated'),
    });
    return await start(config, logger, pools);
  } catch (error) {
    await pools.close();
    throw error;
  }
}

async function start(config: ServerConfig, logger: Logger, pools: Pools): Promise<Server> {
  const owner = `${hostname()}/${process.pid}/${Math.random().toString(36).slice(2, 8)}`;
  const range =
    config.machineId === undefined ? { from: 0, to: 511 } : { from: config.machineId, to: config.machineId };
  const machine = await takeMachineLease(pools.cluster, owner, { ttlMs: MACHINE_LEASE_MS, ...range });
  const snowflake = createSnowflake({ machineId: machine.machineId, now: Date.now });
  const nextId = (): Id => snowflake.next();
  const globals = { env: { ...config.templateEnv }, server_url: '' };

  const catalog = createCatalog({ pool: pools.cluster, nextId, now: () => new Date() });
  // Shards whose table may hold ready commands that the queue does not: after a start, and when a command was given back.
  const unseen = new Set(pools.shards);
  const lookAgain = () => {
    for (const shard of pools.shards) unseen.add(shard);
    refiller.soon();
  };
  const queue = createCommandQueue(() => unseen.size > 0 && refiller.soon());
  const metrics = createMetrics({
    version: VERSION,
    readyCommands: () => queue.ready,
    waitingWorkers: () => queue.waiting,
    streamFollowers: () => log.feed.followers,
  });
  const log = createLog({
    pools,
    leaseMs: config.leaseMs,
    world: (): World => ({ now: new Date().toISOString(), nextId, values: globals }),
    playbook: (id) => catalog.compiled(id),
    references: resolverOf(pools),
    tell: (rows, events, state) =>
      outboxRowsOf(rows, events, state, {
        announceCommands: config.messaging.commands === 'nats',
        mirrorEvents: config.eventMirror,
        serverUrl: globals.server_url,
      }),
    offer: (offer) => queue.offer(offer),
    committed: (committed) => afterCommit(committed),
    observe: (stats) => metrics.appended(stats),
    onBrokenSnapshot: (ids) => {
      metrics.snapshotsBroken(ids.length);
      logger.warn({ execution_ids: ids }, 'snapshots could not be used; the logs are folded instead');
    },
  });
  const snapshots = createSnapshots(pools);
  const desk = createLeaseDesk({ log, queue, leaseMs: config.leaseMs });
  const reporter = createReporter({ log, pools });
  const starter = createStarter({ log, pools, catalog, nextId, callbacks: config.callbacks });

  function afterCommit({ rows, state, open, posted }: Committed): void {
    for (const offer of open) queue.put(readyFromOffer(offer));
    for (const row of rows) {
      if (row.event_type === 'command.requeued') {
        // A copy that was read before the last claim knows neither its delay nor where it goes on.
        if (row.command_id !== null) queue.forget(row.command_id);
        lookAgain();
      }
      if (row.event_type === 'command.cancelled' && row.command_id !== null) queue.forget(row.command_id);
    }
    snapshots.note(state);
    if (posted > 0) courier.soon();
    if (state.endedAt !== null) metrics.executionEnded(state.status);
    messaging.wake();
  }

  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every open stream and every waiting worker listens
  const { app, idle } = await createApp({
    log: logger,
    version: VERSION,
    access: {
      token: config.token,
      loopbackOnly: isLoopbackName(config.host) && config.token === undefined,
      isGuardedElsewhere: isInternal,
    },
    isTransient,
    observe: metrics.http,
  });
  guardInternal(app, () => process.env[INTERNAL_TOKEN]);
  healthRoutes(app, { pools, metrics, version: VERSION, exposeMetrics: config.metrics, nats: () => messaging.nats });
  catalogRoutes(app, { catalog, pool: pools.cluster, metrics });
  startRoutes(app, { starter, metrics });
  signalRoutes(app, { log, pools, nextId });
  const rerunner = createRerunner({ log, pools, catalog, nextId });
  rerunRoutes(app, { rerunner });
  operationRoutes(app, { pools, nextId, wake: () => operations.soon() });
  executionRoutes(app, {
    log,
    pools,
    catalog,
    closing: closing.signal,
    liveWorkers: () => liveWorkers(pools, config.offlineSeconds),
  });
  eventRoutes(app, { log, metrics, nextId });
  commandRoutes(app, { log, pools, desk, reporter, metrics, closing: closing.signal });
  runtimeRoutes(app, { pools, metrics, leaseMs: config.leaseMs, nextId });
  const outboxMetrics = createOutboxMetrics(metrics.registry);
  const outbox = createOutbox({ pools, settings: config.outbox, metrics: outboxMetrics });
  outboxMetrics.watch(async () => totals(await outbox.backlog()));
  outboxRoutes(app, { outbox });
  const cleanup = { pools, metrics: createCleanupMetrics(metrics.registry), logger };
  cleanupRoutes(app, cleanup);
  projectionRoutes(app, { log, pools, metrics: createProjectionMetrics(metrics.registry), nextId });
  containerCallbackRoutes(app, { log, pools, registry: metrics.registry, nextId });
  objectRoutes(app, { pools });
  shardRoutes(app, { pools, streamLag: config.messaging.events.enabled ? lagSeconds : undefined });
  const replay = replayRoutes(app, {
    pools,
    catalog,
    metrics: createReplayMetrics(metrics.registry),
    logger,
  });
  resultRoutes(app, { pools, metrics, nextId });
  subscriptionRoutes(app, { subscriptions: createSubscriptions({ pools, nextId, now: () => new Date() }) });
  const messaging = startMessaging({
    settings: config.messaging,
    pools,
    app,
    registry: metrics.registry,
    holder: owner,
    log: logger,
    outbox,
    mirrorEvents: config.eventMirror,
    publicUrl: () => globals.server_url,
    announced: lookAgain,
  });

  const onError = (task: string) => (error: unknown) =>
    logger.warn({ err: error, task }, 'background task failed; it is tried again');
  const onEveryShard = (task: string, intervalMs: number, work: (shard: Shard) => Promise<void>) =>
    together(pools.shards.map((shard) => every(intervalMs, () => work(shard), onError(`${task} ${shard.name}`))));
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
        void close();
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
      if (leads) await purge(cleanup, cleanupPolicy);
    };
    tasks.push(every(cleanupMs, cleanUp, onError('cleanup')));
  }
  if (config.callbacks.secret !== undefined) {
    const delivery = { outbox, settings: config.callbacks, metrics: outboxMetrics, logger, owner };
    const callbacks = every(
      1_000,
      async () => {
        if (await deliverCallbacks(delivery)) callbacks.soon();
      },
      onError('callbacks'),
    );
    tasks.push(callbacks);
  }

  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      await Promise.all(tasks.map((task) => task.stop()));
      closing.abort();
      await Promise.race([idle(), delay(CLOSE_PATIENCE_MS, undefined, { ref: false })]);
      // Open connections without a request keep Node's server from closing, even those that never sent one.
      app.server.closeAllConnections();
      await app.close();
      await log.idle();
      await snapshots.flush().catch(onError('snapshots'));
      await replay.idle();
      await messaging.close();
      await Promise.allSettled([
        machine.release(),
        resign(pools.cluster, 'sweeper', owner),
        resign(pools.cluster, 'cleanup', owner),
      ]);
      await pools.close();
    })();
    return closed;
  };

  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await close();
    throw error;
  }
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : config.port;
  const shownHost = config.host.includes(':')
    ? `[${config.host}]`
    : config.host === '0.0.0.0'
      ? '127.0.0.1'
      : config.host;
  const url = `http://${shownHost}:${port}`;
  globals.server_url = config.publicUrl ?? url;
  if (!isLoopbackName(config.host) && config.token === undefined) {
    logger.warn(
      { host: config.host },
      'listening without authentication because --insecure was given: anybody who can reach this address can run code',
    );
  }
  return { url, port, close };
}
