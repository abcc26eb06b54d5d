// Wires the control plane together and keeps its background work going. Everything it starts, `close` stops.
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createSnowflake, type Id, type World } from '@noetl/core';
import type { Logger } from 'pino';
import { catalogRoutes, createCatalog } from './catalog/index.js';
import {
  commandRoutes,
  createCommandQueue,
  createLeaseDesk,
  createReporter,
  readyFromOffer,
  refill,
  requeueExpired,
} from './commands/index.js';
import type { ServerConfig } from './config.js';
import {
  ensurePartitions,
  isTransient,
  lead,
  migrate,
  openPools,
  type Pools,
  resign,
  takeMachineLease,
} from './db/index.js';
import { createStarter, executionRoutes, startRoutes } from './executions/index.js';
import { createApp, healthRoutes, isLoopbackName } from './http/index.js';
import { type Committed, createLog, eventRoutes } from './log/index.js';
import { createLogger, createMetrics } from './observability/index.js';
import { every, type Periodic } from './periodic.js';
import { liveWorkers, markOffline, runtimeRoutes } from './runtime/index.js';
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
    await prepareDatabases(pools, logger);
    return await start(config, logger, pools);
  } catch (error) {
    await pools.close();
    throw error;
  }
}

async function prepareDatabases(pools: Pools, logger: Logger): Promise<void> {
  for (const pool of new Set([pools.cluster, ...pools.shards.map((shard) => shard.pool)])) {
    const applied = await migrate(pool);
    if (applied.length > 0) logger.info({ applied }, 'database migrated');
    await ensurePartitions(pool, new Date());
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
  // Set while the table may hold ready commands that the queue does not: after a start, and when a command was given back.
  let unseen = true;
  const queue = createCommandQueue(() => unseen && refiller.soon());
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
    offer: (offer) => queue.offer(offer),
    committed: (committed) => afterCommit(committed),
    observe: (stats) => metrics.appended(stats),
  });
  const desk = createLeaseDesk({ log, queue, leaseMs: config.leaseMs });
  const reporter = createReporter({ log, pools });
  const starter = createStarter({ log, pools, catalog, nextId });

  function afterCommit({ rows, state, open }: Committed): void {
    for (const offer of open) queue.put(readyFromOffer(offer));
    for (const row of rows) {
      if (row.event_type === 'command.requeued') {
        unseen = true;
        refiller.soon();
      }
      if (row.event_type === 'command.cancelled' && row.command_id !== null) queue.forget(row.command_id);
    }
    if (state.endedAt !== null) metrics.executionEnded(state.status);
  }

  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every open stream and every waiting worker listens
  const { app, idle } = await createApp({
    log: logger,
    version: VERSION,
    access: { token: config.token, loopbackOnly: isLoopbackName(config.host) && config.token === undefined },
    isTransient,
    observe: metrics.http,
  });
  healthRoutes(app, { pools, metrics, version: VERSION, exposeMetrics: config.metrics });
  catalogRoutes(app, { catalog, pool: pools.cluster, metrics });
  startRoutes(app, { starter, metrics });
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

  const onError = (task: string) => (error: unknown) =>
    logger.warn({ err: error, task }, 'background task failed; it is tried again');
  const refiller = every(
    1_000,
    async () => {
      if (await refill(pools, queue)) unseen = false;
    },
    onError('refill'),
  );
  const tasks: Periodic[] = [
    refiller,
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
      Math.min(5_000, Math.max(250, config.leaseMs / 4)),
      async () => {
        if ((await lead(pools.cluster, 'sweeper', owner, LEADER_LEASE_MS)) === undefined) return;
        metrics.leasesExpired(await requeueExpired(pools, log, logger));
        await markOffline(pools.cluster, config.offlineSeconds);
      },
      onError('sweeper'),
    ),
    every(
      3_600_000,
      async () => {
        for (const shard of pools.shards) await ensurePartitions(shard.pool, new Date());
      },
      onError('partitions'),
    ),
  ];

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
      await Promise.allSettled([machine.release(), resign(pools.cluster, 'sweeper', owner)]);
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
