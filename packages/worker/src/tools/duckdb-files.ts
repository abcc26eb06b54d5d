// The database files of duckdb steps. What must stay true:
//  - this process has each file open once, however many steps use it: DuckDB's lock does not protect a file from its own process;
//  - a file is open only while a step uses it, and a moment longer when the next step may come, so that another worker on this machine
//    can take its turn;
//  - the file of an execution is deleted a while after its last use, also when the worker that made it is gone.
import { mkdir, readdir, realpath, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type * as DuckDb from '@duckdb/node-api';
import { configurationError } from './errors.js';

export interface DuckdbSettings {
  /** Where the databases of executions and those with a relative path are. */
  readonly dataDir: string;
  /** SQL may read and write files and the network, and databases may be anywhere. */
  readonly externalAccess: boolean;
  /** How long the database of an execution is kept after its last use. */
  readonly keepMs: number;
}

export interface DuckdbFiles {
  /** Connects to the database of the execution, or to the one that the author names. */
  connect(database: DatabaseName, signal: AbortSignal): Promise<OpenDatabase>;
  close(): Promise<void>;
}

export type DatabaseName =
  | { readonly type: 'memory' }
  | { readonly type: 'execution'; readonly executionId: string }
  | { readonly type: 'path'; readonly path: string };

export interface OpenDatabase {
  readonly connection: DuckDb.DuckDBConnection;
  close(): void;
}

interface SharedInstance {
  readonly instance: Promise<DuckDb.DuckDBInstance>;
  users: number;
  /** Set while nobody uses it. */
  closing?: { readonly timer: NodeJS.Timeout; readonly now: () => void };
}

/** By file, for all workers of this process. */
const shared = new Map<string, SharedInstance>();

/** Of one database; a query that needs more spills to disk or fails. An author may change it with SET memory_limit. */
const MEMORY_LIMIT = '1GB';
const LOCK_RETRY_MS = 50;
/** Opening a file takes longer than most steps, and the steps of an execution follow each other closely. */
const LINGER_MS = 250;
const SWEEP_MS = 600_000;

export function createDuckdbFiles(
  load: () => Promise<typeof DuckDb>,
  { dataDir, externalAccess, keepMs }: DuckdbSettings,
): DuckdbFiles {
  const executionsDir = path.join(dataDir, 'executions');
  let sweeper: NodeJS.Timeout | undefined;
  let sweeping = Promise.resolve();

  async function connect(database: DatabaseName, signal: AbortSignal): Promise<OpenDatabase> {
    const file = await fileOf(database);
    if (file === undefined) return inMemory(await create(':memory:'));
    const ofExecution = database.type === 'execution';
    for (;;) {
      try {
        const opened = await join(file, ofExecution ? LINGER_MS : 0);
        if (ofExecution) await touch(file);
        return opened;
      } catch (error) {
        if (!isLocked(error)) throw error;
      }
      // Another process has it open: its step will end.
      await delay(LOCK_RETRY_MS, undefined, { signal });
    }
  }

  async function inMemory(instance: DuckDb.DuckDBInstance): Promise<OpenDatabase> {
    const connection = await instance.connect();
    return {
      connection,
      close() {
        connection.closeSync();
        instance.closeSync();
      },
    };
  }

  /** Opens the file, or shares it with the steps that have it open. */
  async function join(file: string, lingerMs: number): Promise<OpenDatabase> {
    const entry: SharedInstance = shared.get(file) ?? { instance: create(file), users: 0 };
    // Counted before the first wait: whoever comes meanwhile shares it.
    shared.set(file, entry);
    entry.users += 1;
    clearTimeout(entry.closing?.timer);
    delete entry.closing;
    let instance: DuckDb.DuckDBInstance | undefined;
    const closeFile = (): void => {
      shared.delete(file);
      // In the same turn: nobody may open the file before it is closed.
      instance?.closeSync();
    };
    const leave = (ms: number): void => {
      entry.users -= 1;
      if (entry.users > 0) return;
      if (ms === 0) closeFile();
      else entry.closing = { timer: setTimeout(closeFile, ms).unref(), now: closeFile };
    };
    try {
      instance = await entry.instance;
      const connection = await instance.connect();
      return {
        connection,
        close() {
          connection.closeSync();
          leave(lingerMs);
        },
      };
    } catch (error) {
      leave(0);
      throw error;
    }
  }

  /** Undefined: in memory. */
  async function fileOf(database: DatabaseName): Promise<string | undefined> {
    switch (database.type) {
      case 'memory':
        return undefined;
      case 'execution':
        await mkdir(executionsDir, { recursive: true, mode: 0o700 });
        sweepNowAndThen();
        // What is being deleted must not be opened meanwhile.
        await sweeping;
        return path.join(await realpath(executionsDir), `${database.executionId}.duckdb`);
      case 'path':
        return namedFile(database.path);
    }
  }

  async function namedFile(name: string): Promise<string> {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const written = path.resolve(dataDir, name);
    // A symbolic link must not lead out, and two names of one file must not open it twice.
    const file = await realpath(written).catch(async () =>
      path.join(await folderOf(written, name), path.basename(written)),
    );
    const root = await realpath(dataDir);
    if (isBelow(path.join(root, 'executions'), file)) {
      throw configurationError(
        'duckdb',
        `database '${name}' belongs to an execution; its steps reach it without a name`,
      );
    }
    if (externalAccess || isBelow(root, file) || isBelow(await realpath(tmpdir()), file)) return file;
    throw configurationError(
      'duckdb',
      `database '${name}' lies outside the worker's data folder; NOETL_DUCKDB_EXTERNAL_ACCESS=true of the worker allows it`,
    );
  }

  async function create(file: string): Promise<DuckDb.DuckDBInstance> {
    const { DuckDBInstance } = await load();
    return DuckDBInstance.create(file, {
      memory_limit: MEMORY_LIMIT,
      // A database in memory would spill into the folder that the worker was started in.
      ...(file === ':memory:' ? { temp_directory: '' } : {}),
      ...(externalAccess ? {} : { enable_external_access: 'false' }),
    });
  }

  function sweepNowAndThen(): void {
    if (sweeper !== undefined) return;
    const start = (): void => {
      sweeping = sweep().catch(() => undefined);
    };
    sweeper = setInterval(start, Math.min(SWEEP_MS, keepMs)).unref();
    start();
  }

  async function sweep(): Promise<void> {
    const folder = await realpath(executionsDir);
    const oldest = Date.now() - keepMs;
    for (const name of await readdir(folder)) {
      const file = path.join(folder, name);
      // The write-ahead log and the spill folder belong to the database that their name begins with.
      const database = file.replace(/(\.duckdb).*$/, '$1');
      const used = await stat(database).catch(() => stat(file).catch(() => undefined));
      if (used === undefined || used.mtimeMs > oldest || shared.has(database)) continue;
      await rm(file, { recursive: true, force: true });
    }
  }

  return {
    connect,
    async close() {
      clearInterval(sweeper);
      sweeper = undefined;
      await sweeping;
      for (const { closing } of [...shared.values()]) {
        clearTimeout(closing?.timer);
        closing?.now();
      }
    },
  };
}

function isBelow(folder: string, file: string): boolean {
  return file.startsWith(folder + path.sep);
}

async function folderOf(file: string, name: string): Promise<string> {
  const folder = path.dirname(file);
  try {
    return await realpath(folder);
  } catch {
    throw configurationError('duckdb', `database '${name}': there is no folder ${folder}`);
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && /could not set lock/i.test(error.message);
}

/** Reading does not change a file, so its last use is noted by hand. */
async function touch(file: string): Promise<void> {
  const now = new Date();
  await utimes(file, now, now).catch(() => undefined);
}
