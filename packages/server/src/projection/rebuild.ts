// Compares everything that follows from the log (execution rows, command rows, snapshots) with the log itself, and with `check: false` makes it
// follow again. Safe beside running servers: a check looks at one moment, a repair holds the lock of the execution it repairs.
import { createHash } from 'node:crypto';
import { canonicalJson, type Id, parseJson } from '@noetl/core';
import type pg from 'pg';
import type { Pools, Shard } from '../db/index.js';
import { saveSnapshots, takeSnapshot } from '../log/index.js';
import { commandDrift, type Drift, executionDrift } from './drift.js';
import { type Expected, foldLog } from './expected.js';
import {
  adoptExecution,
  deleteCommands,
  deleteSnapshot,
  logIds,
  orphanedCommands,
  type StoredSnapshot,
  storedCommands,
  storedExecution,
  storedSnapshot,
  writeCommands,
  writeExecution,
} from './rebuild-store.js';

export interface RebuildOptions {
  /** Only look. */
  readonly check: boolean;
  /** Only these executions; else all. */
  readonly ids?: readonly Id[];
  /** Executions that began elsewhere become ours: their open commands go into the queue. Else nobody here works for them. */
  readonly adopt?: boolean;
}

export interface RebuildReport {
  executions: number;
  commands: number;
  snapshots: number;
  readonly drift: Drift[];
  /** Executions whose log cannot be folded. */
  readonly broken: { readonly execution_id: Id; readonly error: string }[];
}

const PAGE = 500;
const ORPHANS = 10_000;

export async function rebuild(pools: Pools, options: RebuildOptions): Promise<RebuildReport> {
  const report: RebuildReport = { executions: 0, commands: 0, snapshots: 0, drift: [], broken: [] };
  for (const shard of pools.shards) {
    if (options.ids !== undefined) {
      for (const id of options.ids) if (pools.forExecution(id) === shard) await one(shard, id, options, report);
      continue;
    }
    for (let ids = await logIds(shard.pool, '0' as Id, PAGE); ids.length > 0; ) {
      for (const id of ids) await one(shard, id, options, report);
      ids = await logIds(shard.pool, ids.at(-1) ?? ('0' as Id), PAGE);
    }
    await orphans(shard, options.check, report);
  }
  return report;
}

async function one(shard: Shard, id: Id, options: RebuildOptions, report: RebuildReport): Promise<void> {
  const client = await shard.pool.connect();
  try {
    await client.query(options.check ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN');
    try {
      await compare(client, id, options, report);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      report.broken.push({ execution_id: id, error: error instanceof Error ? error.message : String(error) });
    }
  } finally {
    client.release();
  }
}

async function compare(
  client: pg.PoolClient,
  id: Id,
  { check, adopt = false }: RebuildOptions,
  report: RebuildReport,
): Promise<void> {
  const stored = await storedExecution(client, id, !check);
  const snapshot = await storedSnapshot(client, id);
  const expected = await foldLog(client, id, snapshot?.stream_version ?? undefined);
  if (expected.execution === undefined) {
    if (stored !== undefined) throw new Error('there is an execution row, but its log does not begin');
    return;
  }
  report.executions++;
  const execution = executionDrift(stored, expected.execution);
  const ours = stored?.imported !== true || adopt;
  const wanted = ours ? expected.commands : [];
  const commands = await storedCommands(
    client,
    wanted.map((command) => command.event_id),
  );
  report.commands += commands.size;
  const drifted = wanted
    .map((command) => ({ command, drift: commandDrift(commands.get(command.event_id), command) }))
    .filter((item) => item.drift.length > 0);
  const stale = snapshot === undefined ? [] : snapshotDrift(id, snapshot, expected);
  if (snapshot !== undefined) report.snapshots++;
  report.drift.push(...execution, ...drifted.flatMap((item) => item.drift), ...stale);
  if (check) return;
  if (execution.length > 0) await writeExecution(client, expected.execution);
  if (stored?.imported === true && adopt) await adoptExecution(client, id);
  if (drifted.length > 0) {
    await writeCommands(
      client,
      drifted.map((item) => item.command),
    );
  }
  if (stale.length > 0) {
    await deleteSnapshot(client, id);
    await saveSnapshots(client, [takeSnapshot(expected.state)]);
  }
}

/** Compared at the version it was taken at: a snapshot that is behind is not wrong. */
function snapshotDrift(id: Id, stored: StoredSnapshot, { snapshot }: Expected): Drift[] {
  const base = { execution_id: id, table: 'projection_snapshot' as const, key: id };
  const drift: Drift[] = [];
  if (!stored.intact) drift.push({ ...base, field: 'checksum', stored: 'wrong', expected: 'right' });
  const actual = canonicalJson(stored.snapshot);
  const truth = snapshot === undefined ? null : canonicalJson(parseJson(snapshot.text));
  if (truth !== actual) {
    drift.push({ ...base, field: 'snapshot', stored: digest(actual), expected: truth === null ? null : digest(truth) });
  }
  return drift;
}

/** States are too long to be shown. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function orphans(shard: Shard, check: boolean, report: RebuildReport): Promise<void> {
  const found = await orphanedCommands(shard.pool, ORPHANS);
  for (const { execution_id, command_id, status } of found) {
    report.drift.push({ execution_id, table: 'command', key: command_id, field: '*', stored: status, expected: null });
  }
  if (!check && found.length > 0) {
    await deleteCommands(
      shard.pool,
      found.map((row) => row.event_id),
    );
  }
}
