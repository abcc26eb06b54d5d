// Wires the control plane together. Everything it starts, `close` stops.
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createSnowflake, type Id, type World } from '@noetl/core';
import type { Logger } from 'pino';
import { MACHINE_LEASE_MS, startBackground } from './background.js';
import { catalogRoutes, createCatalog } from './catalog/index.js';
import { cleanupRoutes, createCleanupMetrics } from './cleanup/index.js';
import {
  commandRoutes,
  createCommandQueue,
  createLeaseDesk,
  createReporter,
  readyFromOffer,
} from './commands/index.js';
import type { ServerConfig } from './config.js';
import { isTransient, openPools, type Pools, resign, takeMachineLease } from './db/index.js';
import {
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
import { objectRoutes } from './objects/index.js';
import { createLogger, createMetrics } from './observability/index.js';
import { operationRoutes } from './operations/index.js';
import { createOutbox, createOutboxMetrics, outboxRoutes, outboxRowsOf, totals } from './outbox/index.js';
import { createProjectionMetrics, projectionRoutes } from './projection/index.js';
import { createReplayMetrics, replayRoutes } from './replay/index.js';
import { resolverOf, resultRoutes } from './results/index.js';
import { liveWorkers, runtimeRoutes } from './runtime/index.js';
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
  const queue = createCommandQueue(() => background.commandsWanted());
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
        background.commandsGivenBack();
      }
      if (row.event_type === 'command.cancelled' && row.command_id !== null) queue.forget(row.command_id);
    }
    snapshots.note(state);
    if (posted > 0) background.messagesPosted();
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
  operationRoutes(app, { pools, nextId, wake: () => background.operationMade() });
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
    announced: () => background.commandsGivenBack(),
  });

  const background = startBackground({
    config,
    pools,
    log,
    queue,
    catalog,
    rerunner,
    snapshots,
    outbox,
    outboxMetrics,
    cleanup,
    metrics,
    logger,
    owner,
    machine,
    stop: () => void close(),
  });

  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      await background.stop();
      closing.abort();
      await Promise.race([idle(), delay(CLOSE_PATIENCE_MS, undefined, { ref: false })]);
      // Open connections without a request keep Node's server from closing, even those that never sent one.
      app.server.closeAllConnections();
      await app.close();
      await log.idle();
      await snapshots.flush().catch((error: unknown) => logger.warn({ err: error }, 'snapshots were not written'));
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
