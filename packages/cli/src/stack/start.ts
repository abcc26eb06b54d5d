// Everything in one process: PostgreSQL (embedded, or the one the environment names), the server and its workers. Started in the
// order of dependence and stopped in reverse; a start that fails half-way stops what it had started.
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { acquireDataDir, type DataDirLock, dataDirHolder, describeHolder, type LockHolder } from '../datadir/lock.js';
import { CliError, EXIT } from '../errors.js';
import { databaseFromEnv } from './database.js';
import { keepHeapSmall } from './heap.js';
import { asUnreachable } from './unreachable.js';

export interface StackOptions {
  readonly dataDir: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly workers: number;
  readonly concurrency: number;
  /** How long stopping waits for running commands; what is not done by then is given back and runs at the next start. */
  readonly drainMs: number;
  readonly insecure: boolean;
  readonly log: Logger;
  /** One short line per phase. */
  readonly progress: (line: string) => void;
}

export interface Stack {
  readonly url: string;
  readonly databaseUrl: string;
  readonly embeddedDatabase: boolean;
  /** Settles when a part stopped that we did not ask to stop. */
  readonly broken: Promise<string>;
  /** Lets running work finish, then stops everything. Safe to call twice. */
  readonly stop: () => Promise<void>;
  /** For the second Ctrl-C: asks PostgreSQL to stop and waits for nothing. */
  readonly abandon: () => void;
}

/** Pools a single process must serve itself, because nobody else does. */
const ALL_POOLS = ['shared', 'system', 'subscription'];

export async function startStack(options: StackOptions): Promise<Stack> {
  const dataDir = resolve(options.dataDir);
  const lock = lockOrThrow(dataDir);
  const stops: (() => Promise<void> | void)[] = [() => lock.release()];
  const stopAll = async () => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) {
      await Promise.resolve(stop()).catch((error: unknown) => options.log.error({ err: error }, 'stopping failed'));
    }
  };
  try {
    keepOutOfGit(dataDir);
    keepHeapSmall();
    const { loadServerConfig, startServer } = await import('@noetl/server');
    const { host, port, insecure } = options;
    // Read before anything is started, so that a bad setting costs nothing; the database's address follows.
    loadServerConfig(process.env, { host, port, insecure });
    const database = await startDatabase(dataDir, options);
    stops.push(database.stop);

    options.progress('Starting the server');
    const config = loadServerConfig(process.env, { host, port, insecure, databaseUrl: database.url });
    const server = await startServer(config, options.log).catch((error: unknown) => {
      throw asUnreachable(error, database.url);
    });
    stops.push(() => server.close());

    if (options.workers > 0) {
      const workers = await startWorkers(server.url, options);
      stops.push(workers.stop);
    }
    lock.publish(server.url);

    let stopping: Promise<void> | undefined;
    return {
      url: server.url,
      databaseUrl: database.url,
      embeddedDatabase: database.exited !== undefined,
      broken: watch(database.exited, () => stopping !== undefined),
      stop: () => {
        stopping ??= stopAll();
        return stopping;
      },
      abandon: () => {
        database.interrupt();
        lock.release();
      },
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

function lockOrThrow(dataDir: string): DataDirLock {
  const attempt = acquireDataDir(dataDir);
  if (attempt.state === 'acquired') return attempt.lock;
  throw heldError(dataDir, attempt.holder);
}

function heldError(dataDir: string, holder: LockHolder): CliError {
  return new CliError(`${dataDir} is in use by another noetl: ${describeHolder(holder)}.`, {
    hint: `Stop it with: kill ${holder.pid}   Or choose another folder with --data-dir.`,
  });
}

/** The address of the server that holds the data directory, waiting for one that is just starting. */
export async function heldServer(dataDir: string, patienceMs = 30_000): Promise<string | undefined> {
  for (const deadline = Date.now() + patienceMs; ; await delay(100)) {
    const holder = dataDirHolder(resolve(dataDir));
    if (holder === undefined) return undefined;
    if (holder.url !== null) return holder.url;
    if (Date.now() > deadline) throw heldError(resolve(dataDir), holder);
  }
}

interface Database {
  readonly url: string;
  readonly stop: () => Promise<void>;
  readonly interrupt: () => void;
  /** Absent for a database that is not ours. */
  readonly exited?: () => Promise<void>;
}

async function startDatabase(dataDir: string, { progress }: StackOptions): Promise<Database> {
  const external = await databaseFromEnv();
  if (external !== undefined) return { url: external, stop: async () => {}, interrupt: () => {} };
  const { startEmbeddedPostgres } = await import('../postgres/embedded.js');
  const postgres = await startEmbeddedPostgres({ dataDir, log: progress });
  return { url: postgres.url, stop: postgres.stop, interrupt: () => void postgres.stop(), exited: postgres.exited };
}

async function startWorkers(url: string, options: StackOptions): Promise<{ stop: () => Promise<void> }> {
  options.progress(options.workers === 1 ? 'Starting a worker' : `Starting ${options.workers} workers`);
  const { builtinTools, connectToControlPlane, startWorker } = await import('@noetl/worker');
  const server = connectToControlPlane({ url, token: process.env['NOETL_API_TOKEN'] || undefined });
  const workers = Array.from({ length: options.workers }, (_, index) =>
    startWorker({
      api: server.api,
      // Scripts that a playbook names by file are looked for below the folder we were started in.
      tools: builtinTools({
        python: { scriptRoot: process.cwd() },
        duckdb: { dataDir: join(resolve(options.dataDir), 'duckdb') },
      }),
      workerId: `${hostname()}-${process.pid}-${index + 1}`,
      pools: ALL_POOLS,
      concurrency: options.concurrency,
      drainTimeoutMs: options.drainMs,
      log: options.log,
    }),
  );
  return {
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.drain()));
      await server.close();
    },
  };
}

function watch(exited: (() => Promise<void>) | undefined, expected: () => boolean): Promise<string> {
  return new Promise((settle) => {
    void exited?.().then(() => {
      if (!expected()) settle('PostgreSQL stopped unexpectedly.');
    });
  });
}

/** The folder holds a password and a database: nobody wants them in a commit by accident. */
function keepOutOfGit(dataDir: string): void {
  try {
    writeFileSync(join(dataDir, '.gitignore'), '*\n', { flag: 'wx' });
  } catch {
    // Present already, or a read-only folder: then the next step fails with a better message.
  }
}

export function brokenError(reason: string, dataDir: string): CliError {
  return new CliError(reason, {
    exitCode: EXIT.error,
    hint: `Logs: ${join(dataDir, 'postgres', 'postgres.log')} and ${join(dataDir, 'noetl.log')}`,
  });
}
