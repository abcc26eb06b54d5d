// `<data-dir>/noetl.lock`: who serves this data directory, and where to reach it. Two servers must never share a data
// directory, and a file left by a crash must never stop the next start, so the file names a process precisely enough to tell
// whether it still runs.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { CliError, codeOf } from '../errors.js';
import { identifyProcess } from './process.js';

export interface LockHolder {
  readonly pid: number;
  readonly started_at: string;
  /** Null until the server listens. */
  readonly url: string | null;
  readonly host: string;
  /** Tells the process from a later one with the same pid. */
  readonly process_start: string | null;
  /** Tells this lock from every other, also from one of the same process. */
  readonly token: string;
}

export interface DataDirLock {
  readonly holder: LockHolder;
  /** Tells other commands where the server is. Fails when the lock is no longer ours. */
  readonly publish: (url: string) => void;
  readonly release: () => void;
}

export type LockAttempt =
  | { readonly state: 'acquired'; readonly lock: DataDirLock }
  | { readonly state: 'held'; readonly holder: LockHolder };

const FILE = 'noetl.lock';
const REFRESH_MS = 5_000;
/** A holder on another machine (a shared volume, the previous container) cannot be asked; it counts as gone after this silence. */
const FOREIGN_SILENCE_MS = 30_000;

export function acquireDataDir(dataDir: string): LockAttempt {
  mkdirSync(dataDir, { recursive: true });
  const file = join(dataDir, FILE);
  const holder: LockHolder = {
    pid: process.pid,
    started_at: new Date().toISOString(),
    url: null,
    host: hostname(),
    process_start: identifyProcess(process.pid)?.startTime ?? null,
    token: randomBytes(8).toString('hex'),
  };
  for (let attempt = 0; attempt < 10; attempt++) {
    if (createExclusively(file, holder)) return { state: 'acquired', lock: hold(file, holder) };
    const found = readHolder(file);
    if (found === undefined) continue;
    if (isAlive(found, file)) return { state: 'held', holder: found };
    removeStale(file, found);
  }
  throw new CliError(`Could not lock ${dataDir}: ${FILE} keeps changing.`, { hint: `Remove ${file} and try again.` });
}

/** The live holder, or undefined. */
export function dataDirHolder(dataDir: string): LockHolder | undefined {
  const file = join(dataDir, FILE);
  const holder = readHolder(file);
  return holder !== undefined && isAlive(holder, file) ? holder : undefined;
}

export function describeHolder(holder: LockHolder): string {
  const where = holder.host === hostname() ? '' : ` on ${holder.host}`;
  const at = holder.url === null ? 'still starting' : holder.url;
  return `pid ${holder.pid}${where}, since ${holder.started_at}, ${at}`;
}

/** link(2) is O_EXCL with the content already in place: a reader never sees half a file. */
function createExclusively(file: string, holder: LockHolder): boolean {
  const draft = `${file}.${holder.token}`;
  writeFileSync(draft, `${JSON.stringify(holder, null, 2)}\n`, { flag: 'wx', mode: 0o644 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function isAlive(holder: LockHolder, file: string): boolean {
  if (holder.host !== hostname()) {
    const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return age < FOREIGN_SILENCE_MS;
  }
  const found = identifyProcess(holder.pid);
  return found !== undefined && (holder.process_start === null || found.startTime === holder.process_start);
}

/**
 * Two processes may find the same stale lock. Each moves the file aside and looks at what it moved: whoever moved a fresh lock
 * puts it back, so only the stale one disappears. `publish` catches the remaining sliver of a race.
 */
function removeStale(file: string, stale: LockHolder): void {
  const aside = `${file}.stale.${randomBytes(4).toString('hex')}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    if (readHolder(aside)?.token !== stale.token) linkSync(aside, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function hold(file: string, holder: LockHolder): DataDirLock {
  const isOurs = () => readHolder(file)?.token === holder.token;
  const refresh = setInterval(() => {
    const now = new Date();
    if (isOurs()) utimesSync(file, now, now);
  }, REFRESH_MS);
  refresh.unref();
  return {
    holder,
    publish: (url) => {
      if (!isOurs()) throw new CliError(`Lost the lock ${file} to another process.`, { hint: 'Start again.' });
      const draft = `${file}.${holder.token}`;
      writeFileSync(draft, `${JSON.stringify({ ...holder, url }, null, 2)}\n`, { mode: 0o644 });
      renameSync(draft, file);
    },
    release: () => {
      clearInterval(refresh);
      if (isOurs()) rmSync(file, { force: true });
    },
  };
}

/** Undefined when there is no lock. A file nobody can read as a lock names no process: it is stale. */
function readHolder(file: string): LockHolder | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  return parseHolder(text);
}

export function parseHolder(text: string): LockHolder {
  let value: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) value = { ...parsed };
  } catch {
    // Falls through to the holder that is nobody.
  }
  const string = (key: string) => (typeof value[key] === 'string' ? value[key] : undefined);
  return {
    pid: typeof value['pid'] === 'number' ? value['pid'] : 0,
    started_at: string('started_at') ?? 'an unknown time',
    url: string('url') ?? null,
    host: string('host') ?? hostname(),
    process_start: string('process_start') ?? null,
    token: string('token') ?? '',
  };
}
