// The cluster on disk: created once, atomically, with a random password; its settings are ours and are rewritten when this
// file changes. Layout of `<data-dir>/postgres`: `data` (the cluster), `password` (0600), `postgres.log`.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CliError, messageOf } from '../errors.js';
import type { PostgresBinaries } from './binaries.js';
import type { Launcher } from './run-as.js';

const run = promisify(execFile);

export const DATABASE_USER = 'noetl';
export const DATABASE_NAME = 'noetl';

export interface ClusterPaths {
  readonly folder: string;
  readonly data: string;
  readonly password: string;
  readonly log: string;
}

export function clusterPaths(dataDir: string): ClusterPaths {
  const folder = join(dataDir, 'postgres');
  return { folder, data: join(folder, 'data'), password: join(folder, 'password'), log: join(folder, 'postgres.log') };
}

export function clusterExists(paths: ClusterPaths): boolean {
  return existsSync(join(paths.data, 'PG_VERSION'));
}

export function readPassword(paths: ClusterPaths): string {
  return readFileSync(paths.password, 'utf8').trim();
}

export function databaseUrl(paths: ClusterPaths, port: number, database = DATABASE_NAME): string {
  return `postgresql://${DATABASE_USER}:${readPassword(paths)}@127.0.0.1:${port}/${database}`;
}

/**
 * initdb works in a sibling folder that is renamed when it is complete: a kill in the middle leaves a folder that the next
 * start removes, never half a cluster.
 */
export async function createCluster(
  paths: ClusterPaths,
  binaries: PostgresBinaries,
  launcher: Launcher,
): Promise<void> {
  removeUnfinished(paths);
  writeOwned(paths.password, `${randomBytes(24).toString('base64url')}\n`, launcher);
  const unfinished = `${paths.data}.unfinished`;
  mkdirSync(unfinished, { mode: 0o700 });
  own(unfinished, launcher);
  const { file, args, options } = launcher.command(binaries.initdb, [
    ...['--pgdata', unfinished, '--username', DATABASE_USER, '--pwfile', paths.password],
    ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
  ]);
  try {
    // C.UTF-8 is not everywhere; C sorts by bytes everywhere, so an index never depends on the system's libc.
    await run(file, args, { ...options, cwd: paths.folder, env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } });
  } catch (cause) {
    removeUnfinished(paths);
    throw new CliError(`PostgreSQL could not create its cluster in ${paths.folder}: ${lastLine(cause)}`, {
      hint: 'Check free disk space and permissions, choose another --data-dir, or set DATABASE_URL.',
      cause,
    });
  }
  appendFileSync(
    join(unfinished, 'postgresql.conf'),
    "\n# Settings of noetl. Lines below this one override them.\ninclude 'noetl.conf'\n",
  );
  renameSync(unfinished, paths.data);
}

function removeUnfinished(paths: ClusterPaths): void {
  for (const name of readdirSync(paths.folder)) {
    if (name === 'data.unfinished') rmSync(join(paths.folder, name), { recursive: true, force: true });
  }
}

function lastLine(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr).trim() : '';
  return text.split('\n').at(-1) || messageOf(error);
}

// Raised whenever a line below changes, so that clusters created by an older release get the new settings.
const SETTINGS_REVISION = 1;

/** Writes `noetl.conf`. Cheap when it is already up to date. */
export async function writeSettings(
  paths: ClusterPaths,
  binaries: PostgresBinaries,
  launcher: Launcher,
): Promise<void> {
  const file = join(paths.data, 'noetl.conf');
  const header = `# Written by noetl, revision ${SETTINGS_REVISION}. Your own settings belong at the end of postgresql.conf.`;
  if (existsSync(file) && readFileSync(file, 'utf8').startsWith(header)) return;
  const base = `${header}\n${settings}`;
  // Present first without it: asking the server what it supports needs a configuration that loads.
  writeOwned(file, base, launcher);
  const compression = (await supportsLz4(paths, binaries, launcher)) ? 'lz4' : 'on';
  writeOwned(file, `${base}wal_compression = ${compression}\n`, launcher);
}

const settings = `\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
shared_buffers = 128MB
max_wal_size = 2GB
fsync = on
synchronous_commit = on
password_encryption = scram-sha-256
timezone = 'UTC'
log_timezone = 'UTC'
logging_collector = off
log_line_prefix = '%m [%p] '
`;

async function supportsLz4(paths: ClusterPaths, binaries: PostgresBinaries, launcher: Launcher): Promise<boolean> {
  const { file, args, options } = launcher.command(binaries.postgres, [
    ...['-D', paths.data, '-C', 'wal_compression', '-c', 'wal_compression=lz4'],
  ]);
  return run(file, args, { ...options, cwd: paths.folder }).then(
    () => true,
    () => false,
  );
}

function writeOwned(file: string, text: string, launcher: Launcher): void {
  writeFileSync(file, text, { mode: 0o600 });
  chmodSync(file, 0o600);
  own(file, launcher);
}

function own(path: string, { account }: Launcher): void {
  if (account !== undefined) chownSync(path, account.uid, account.gid);
}
