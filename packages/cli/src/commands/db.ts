// `noetl db url` and `noetl db psql`: the door to the embedded database of a data directory.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { acquireDataDir, type DataDirLock } from '../datadir/lock.js';
import { CliError, codeOf, EXIT, type ExitCode } from '../errors.js';
import { clusterExists, clusterPaths, databaseUrl } from '../postgres/cluster.js';
import { startEmbeddedPostgres } from '../postgres/embedded.js';
import { inspectCluster } from '../postgres/pid-file.js';
import { printJson } from '../print-json.js';
import { databaseFromEnv } from '../stack/database.js';
import { paletteFor, say } from '../terminal.js';

export interface DbOptions {
  readonly dataDir: string;
  readonly json?: boolean;
}

export async function url(options: DbOptions): Promise<ExitCode> {
  const found = (await databaseFromEnv()) ?? runningUrl(resolve(options.dataDir));
  if (found === undefined) throw notRunning(options.dataDir);
  if (options.json === true) printJson({ url: found });
  else process.stdout.write(`${found}\n`);
  return EXIT.ok;
}

/** Opens psql. When nothing runs on the data directory, its PostgreSQL is started for the length of the session. */
export async function psql(args: readonly string[], options: DbOptions): Promise<ExitCode> {
  const named = await databaseFromEnv();
  if (named !== undefined) return openPsql(named, args);
  return withEmbedded(options.dataDir, (target) => openPsql(target, args));
}

/** The database that the environment names (`undefined`: it is in the environment), else that of the data directory. */
export async function withDatabase<T>(dataDir: string, work: (url: string | undefined) => Promise<T>): Promise<T> {
  return (await databaseFromEnv()) === undefined ? withEmbedded(dataDir, work) : work(undefined);
}

async function withEmbedded<T>(folder: string, work: (url: string) => Promise<T>): Promise<T> {
  const dataDir = resolve(folder);
  const found = runningUrl(dataDir);
  if (found !== undefined) return work(found);
  if (!clusterExists(clusterPaths(dataDir))) throw notRunning(folder);
  const lock = lockForSession(dataDir);
  const paint = paletteFor(process.stderr);
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, log: (line) => say(paint.dim(`${line}…`)) });
    try {
      return await work(postgres.url);
    } finally {
      await postgres.stop();
    }
  } finally {
    lock.release();
  }
}

function lockForSession(dataDir: string): DataDirLock {
  const attempt = acquireDataDir(dataDir);
  if (attempt.state === 'acquired') return attempt.lock;
  throw new CliError(`${dataDir} is just being started by pid ${attempt.holder.pid}.`, {
    hint: 'Try again in a moment.',
  });
}

function runningUrl(dataDir: string): string | undefined {
  const paths = clusterPaths(dataDir);
  const use = inspectCluster(paths.data);
  return use.state === 'running' ? databaseUrl(paths, use.postmaster.port) : undefined;
}

function notRunning(dataDir: string): CliError {
  return new CliError(`No PostgreSQL runs on ${dataDir}.`, {
    exitCode: EXIT.unreachable,
    hint: 'Start it with `noetl up`, or name its folder with --data-dir.',
  });
}

function openPsql(target: string, args: readonly string[]): Promise<ExitCode> {
  const { hostname, port, username, password, pathname } = new URL(target);
  // In the environment rather than on the command line, which every user of the machine can read.
  const env = {
    ...process.env,
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
  };
  // psql handles Ctrl-C itself: it cancels the query, not the session.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  return new Promise<ExitCode>((settle, fail) => {
    const child = spawn('psql', args, { env, stdio: 'inherit' });
    child.once('error', (error) => {
      const missing = codeOf(error) === 'ENOENT';
      fail(
        missing
          ? new CliError('psql is not installed.', {
              hint: 'Install the PostgreSQL client, or use `noetl db url` with another one.',
            })
          : error,
      );
    });
    child.once('exit', (code) => settle(code === 0 ? EXIT.ok : EXIT.error));
  }).finally(() => process.off('SIGINT', ignore));
}
