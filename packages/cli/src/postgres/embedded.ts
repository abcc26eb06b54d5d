// PostgreSQL as a child of ours: one cluster per data directory, loopback only, started in a process group of its own so that
// Ctrl-C reaches us first. Whatever a crash left behind is recovered: a stale pid file is disowned, a server that outlived a
// kill -9 of its parent is adopted. At most one start or stop runs per data directory; the caller holds its lock.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CliError } from '../errors.js';
import { locatePostgres, type PostgresBinaries } from './binaries.js';
import {
  type ClusterPaths,
  clusterExists,
  clusterPaths,
  createCluster,
  DATABASE_NAME,
  databaseUrl,
  writeSettings,
} from './cluster.js';
import { disownPidFile, inspectCluster, servesCluster } from './pid-file.js';
import { createDatabase, probe } from './probe.js';
import { chooseLauncher, type Launcher } from './run-as.js';

export interface EmbeddedPostgres {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Found running and taken over, rather than started. */
  readonly adopted: boolean;
  /** Settles when the server is gone, whoever ended it. */
  readonly exited: () => Promise<void>;
  /** Fast shutdown: open transactions roll back, everything committed stays. */
  readonly stop: () => Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** One short line per phase that takes noticeable time. */
  readonly log: (line: string) => void;
}

const READY_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 20;
const ADOPTED_POLL_MS = 1_000;

export async function startEmbeddedPostgres({ dataDir, log }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const paths = clusterPaths(resolve(dataDir));
  mkdirSync(paths.folder, { recursive: true, mode: 0o755 });
  if (clusterExists(paths)) {
    const adopted = await adopt(paths, log);
    if (adopted !== undefined) return adopted;
  }
  const binaries = locatePostgres();
  const launcher = chooseLauncher(paths.folder, [binaries.postgres, join(binaries.root, 'share', 'postgresql')]);
  if (!clusterExists(paths)) {
    log('Creating the PostgreSQL cluster');
    await createCluster(paths, binaries, launcher);
  }
  await writeSettings(paths, binaries, launcher);
  log('Starting PostgreSQL');
  return start(paths, binaries, launcher);
}

/** Undefined when nothing usable runs on the cluster; then it is free to start on. */
async function adopt(paths: ClusterPaths, log: (line: string) => void): Promise<EmbeddedPostgres | undefined> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const use = inspectCluster(paths.data);
    if (use.state === 'free') return undefined;
    if (use.state === 'stale') {
      disownPidFile(paths.data);
      return undefined;
    }
    const { pid, port } = use.postmaster;
    const found = await probe(databaseUrl(paths, port, 'postgres'));
    if (found.state === 'ready' && sameFolder(found.dataDirectory, paths.data)) {
      log(`Adopting the PostgreSQL that still runs here (pid ${pid})`);
      await ensureDatabase(paths, port);
      return handle(paths, pid, port);
    }
    if (found.state === 'refused') throw unusable(paths, pid, found.error);
    // Starting, recovering, or on its way out: it becomes ready or its pid file goes away.
    if (Date.now() > deadline) throw unusable(paths, pid);
    await delay(POLL_MS);
  }
}

function sameFolder(a: string, b: string): boolean {
  return existsSync(a) && realpathSync(a) === realpathSync(b);
}

function unusable(paths: ClusterPaths, pid: number, cause?: Error): CliError {
  const why = cause === undefined ? 'but does not answer' : `but refuses us: ${cause.message}`;
  return new CliError(`PostgreSQL (pid ${pid}) holds ${paths.data} ${why}.`, {
    hint: `Stop it with: kill -INT ${pid}   Its log: ${paths.log}`,
    cause,
  });
}

// Both pass by themselves: another program took the port we had found free, or children of a killed server still exit.
const PASSING_FAILURE = /could not bind|could not create any TCP\/IP sockets|shared memory block .* is still in use/;
const START_ATTEMPTS = 40;

async function start(paths: ClusterPaths, binaries: PostgresBinaries, launcher: Launcher): Promise<EmbeddedPostgres> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const logStart = rotateLog(paths.log);
    const child = spawnPostgres(paths, binaries, launcher, port);
    const exited = exitOf(child);
    const outcome = await Promise.race([exited, waitReady(paths, port, child)]);
    if (outcome === 'ready' && child.pid !== undefined) {
      await ensureDatabase(paths, port);
      return handle(paths, child.pid, port, exited);
    }
    const output = readFileSync(paths.log, 'utf8').slice(logStart);
    if (outcome === 'exited' && attempt < START_ATTEMPTS && PASSING_FAILURE.test(output)) {
      await delay(250);
      continue;
    }
    if (outcome === 'timeout') child.kill('SIGQUIT');
    throw startFailure(paths, output, outcome === 'timeout');
  }
}

function spawnPostgres(
  paths: ClusterPaths,
  binaries: PostgresBinaries,
  launcher: Launcher,
  port: number,
): ChildProcess {
  const { file, args, options } = launcher.command(binaries.postgres, ['-D', paths.data, '-p', String(port)]);
  // A file, not a pipe: the server must be able to write after we are gone.
  const log = openSync(paths.log, 'a', 0o600);
  // Opened by us, perhaps as root: it must stay writable for the owner of the cluster when he starts it without root.
  if (launcher.account !== undefined) fchownSync(log, launcher.account.uid, launcher.account.gid);
  try {
    return spawn(file, args, {
      ...options,
      cwd: paths.folder,
      // The user's PG* variables are meant for other databases.
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' },
      detached: true,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

function exitOf(child: ChildProcess): Promise<'exited'> {
  return new Promise((settle) => {
    child.once('exit', () => settle('exited'));
    child.once('error', () => settle('exited'));
  });
}

async function waitReady(
  paths: ClusterPaths,
  port: number,
  child: ChildProcess,
): Promise<'ready' | 'timeout' | 'exited'> {
  const url = databaseUrl(paths, port, 'postgres');
  for (const deadline = Date.now() + READY_TIMEOUT_MS; Date.now() < deadline; ) {
    if (child.exitCode !== null || child.signalCode !== null) return 'exited';
    const found = await probe(url);
    // Somebody else may have been faster to our port: only our own cluster counts.
    if (found.state === 'ready' && sameFolder(found.dataDirectory, paths.data)) return 'ready';
    await delay(POLL_MS);
  }
  return 'timeout';
}

function startFailure(paths: ClusterPaths, output: string, timedOut: boolean): CliError {
  const fatal = output.split('\n').filter((line) => /FATAL|PANIC|ERROR|error while loading/.test(line));
  const reason = timedOut
    ? 'it did not become ready'
    : (fatal.at(-1) ?? output.trim().split('\n').at(-1) ?? 'no output');
  return new CliError(`PostgreSQL did not start: ${reason.replace(/^.*?(FATAL|PANIC|ERROR):\s*/, '')}`, {
    hint: `Its log: ${paths.log}`,
  });
}

async function ensureDatabase(paths: ClusterPaths, port: number): Promise<void> {
  const found = await probe(databaseUrl(paths, port));
  if (found.state === 'no-database') await createDatabase(databaseUrl(paths, port, 'postgres'), DATABASE_NAME);
}

function handle(paths: ClusterPaths, pid: number, port: number, child?: Promise<unknown>): EmbeddedPostgres {
  // An adopted server is not our child, so nobody tells us when it exits.
  const gone = async (pollMs: number) => {
    if (child !== undefined) await child;
    else while (servesCluster(pid, paths.data)) await delay(pollMs);
  };
  const stop = async () => {
    signal(pid, 'SIGINT');
    const stopped = gone(POLL_MS);
    const late = delay(STOP_TIMEOUT_MS, 'late' as const, { ref: false });
    if ((await Promise.race([stopped, late])) !== 'late') return;
    signal(pid, 'SIGQUIT');
    await stopped;
  };
  let stopping: Promise<void> | undefined;
  return {
    url: databaseUrl(paths, port),
    port,
    pid,
    adopted: child === undefined,
    exited: () => gone(ADOPTED_POLL_MS),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already gone.
  }
}

const LOG_LIMIT_BYTES = 16 * 1024 * 1024;

/** Returns where the next server's output begins. */
function rotateLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size < LOG_LIMIT_BYTES) return size;
  renameSync(file, `${file}.1`);
  return 0;
}

function freePort(): Promise<number> {
  return new Promise((settle, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => settle(port));
    });
  });
}
