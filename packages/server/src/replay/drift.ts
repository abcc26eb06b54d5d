// Does what is stored about an execution still say what its log says? The log is folded from its first event, without stored states, and
// compared with the live rows at the same version. A comparison of nothing with nothing is reported as such: it proves nothing.
import {
  type Id,
  type Json,
  REPLAY_AGGREGATE_TYPE,
  type ReplayCommand,
  type ReplayFold,
  replayAggregateId,
  restoreReplayState,
  startReplay,
  takeReplayState,
} from '@noetl/core';
import type pg from 'pg';
import type { Pools } from '../db/index.js';
import { rebuild } from '../projection/index.js';
import { type LiveCommand, type LiveExecution, liveCommands, liveExecution } from './drift-store.js';
import { foldOn } from './fold.js';
import type { DriftOutcome } from './metrics.js';
import { readAllRungs } from './store.js';

export interface DriftReport {
  readonly execution_id: Id;
  /** How far both sides were when they were compared. */
  readonly events: number;
  readonly outcome: DriftOutcome;
  readonly surfaces: Readonly<Record<Surface, { readonly outcome: DriftOutcome; readonly compared: number }>>;
  readonly differences: readonly DriftDifference[];
}

type Surface = 'execution' | 'command' | 'read_model' | 'snapshot';

export interface DriftDifference {
  readonly surface: Surface;
  readonly key: string;
  readonly field: string;
  readonly replayed: Json;
  readonly live: Json;
}

const CHUNK = 2_000;

export async function checkDrift(pools: Pools, id: Id): Promise<DriftReport> {
  const { pool } = pools.forExecution(id);
  const { found, events } = await atOneMoment(pool, async (client) => {
    const fold = await foldLog(client, id, undefined);
    const row = await liveExecution(client, id);
    return {
      events: fold.event_count,
      found: [
        compareExecution(id, fold, row),
        row?.imported === true ? nothing('command') : await compareCommands(client, fold),
        await compareSnapshots(client, id),
      ],
    };
  });
  const surfaces = [...found, await compareReadModel(pools, id)];
  const outcomeOf = (compared: number, differing: number): DriftOutcome =>
    differing > 0 ? 'differs' : compared === 0 ? 'empty' : 'matched';
  const differences = surfaces.flatMap((surface) => surface.differences);
  return {
    execution_id: id,
    events,
    outcome: outcomeOf(
      surfaces.reduce((sum, surface) => sum + surface.compared, 0),
      differences.length,
    ),
    surfaces: Object.fromEntries(
      surfaces.map(({ surface, compared, differences: own }) => [
        surface,
        { outcome: outcomeOf(compared, own.length), compared },
      ]),
    ) as DriftReport['surfaces'],
    differences,
  };
}

interface Compared {
  readonly surface: Surface;
  readonly compared: number;
  readonly differences: readonly DriftDifference[];
}

const nothing = (surface: Surface): Compared => ({ surface, compared: 0, differences: [] });

async function foldLog(client: pg.PoolClient, id: Id, last: Id | undefined): Promise<ReplayFold> {
  const cutoff = last === undefined ? { type: 'end' as const } : { type: 'event' as const, eventId: last };
  const folded = await foldOn(client, startReplay(), {
    executionId: id,
    cutoff,
    limit: Number.POSITIVE_INFINITY,
  });
  return folded.fold;
}

function compareExecution(id: Id, fold: ReplayFold, live: LiveExecution | undefined): Compared {
  if (fold.event_count === 0 && live === undefined) return nothing('execution');
  const base = { surface: 'execution' as const, key: id };
  if (live === undefined) {
    // The log of something else, a subscription for example, never gets a row.
    return fold.execution.status === 'UNKNOWN'
      ? nothing('execution')
      : { ...base, compared: 1, differences: [{ ...base, field: '*', replayed: fold.execution.status, live: null }] };
  }
  const { status } = fold.execution;
  const fields: [string, Json, Json][] = [
    // Replay calls it unknown until its first step.
    ['status', status === 'UNKNOWN' && fold.event_count > 0 ? 'RUNNING' : status, live.status],
    ['event_count', fold.event_count, live.head_version],
  ];
  return {
    ...base,
    compared: fields.length,
    differences: fields.flatMap(([field, replayed, stored]) =>
      replayed === stored ? [] : [{ ...base, field, replayed, live: stored }],
    ),
  };
}

/** Finished commands without a row are not drift: retention takes such rows away. */
async function compareCommands(client: pg.PoolClient, fold: ReplayFold): Promise<Compared> {
  const issued = [...fold.commands.values()].filter((command) => command.issued_event_id !== undefined);
  const differences: DriftDifference[] = [];
  let compared = 0;
  for (let start = 0; start < issued.length; start += CHUNK) {
    const chunk = issued.slice(start, start + CHUNK);
    const live = await liveCommands(
      client,
      chunk.flatMap(({ issued_event_id }) => issued_event_id ?? []),
    );
    for (const command of chunk) {
      const row = live.get(command.issued_event_id ?? ('0' as Id));
      // Its outcome comes from elsewhere; to replay the worker's part of it was all.
      if (row?.status === 'WAITING') continue;
      const found = compareCommand(command, row);
      if (found === undefined) continue;
      compared++;
      differences.push(...found);
    }
  }
  return { surface: 'command', compared, differences };
}

function compareCommand(command: Readonly<ReplayCommand>, row: LiveCommand | undefined): DriftDifference[] | undefined {
  const base = { surface: 'command' as const, key: command.command_id };
  const replayed = stageOf(command.status);
  if (row === undefined) {
    const isOver = replayed !== 'open' && replayed !== 'running';
    return isOver ? undefined : [{ ...base, field: '*', replayed: command.status, live: null }];
  }
  return stageOf(row.status) === replayed
    ? []
    : [{ ...base, field: 'status', replayed: command.status, live: row.status }];
}

/** Producers have their own words for the same thing. */
function stageOf(status: string): string {
  switch (status.toUpperCase()) {
    case 'CLAIMED':
    case 'RUNNING':
    case 'STARTED':
      return 'running';
    case 'COMPLETED':
    case 'SUCCESS':
      return 'done';
    case 'FAILED':
    case 'ERROR':
    case 'FAILURE':
    case 'TIMEOUT':
      return 'failed';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return 'open';
  }
}

/** Each stored state against a fold of the same events. */
async function compareSnapshots(client: pg.PoolClient, id: Id): Promise<Compared> {
  const subject = { tenant_id: 'default', organization_id: 'default', execution_id: id, projection: 'all' } as const;
  const rungs = await readAllRungs(client, replayAggregateId(subject), REPLAY_AGGREGATE_TYPE);
  const differences: DriftDifference[] = [];
  for (const { rung, stored } of rungs) {
    const restored = restoreReplayState(stored);
    const truth = takeReplayState(await foldLog(client, id, stored.version), subject).checksum.value;
    const live = restored.usable ? restored.state.checksum.value : restored.problem;
    if (live !== truth) {
      differences.push({
        surface: 'snapshot',
        key: `${stored.aggregate_id}/${rung}`,
        field: 'checksum',
        replayed: truth,
        live,
      });
    }
  }
  return { surface: 'snapshot', compared: rungs.length, differences };
}

/** Every field of the read model, folded by the engine's own rules. */
async function compareReadModel(pools: Pools, id: Id): Promise<Compared> {
  const report = await rebuild(pools, { check: true, ids: [id] });
  const broken = report.broken.map(
    ({ error }): DriftDifference => ({ surface: 'read_model', key: id, field: 'log', replayed: error, live: null }),
  );
  return {
    surface: 'read_model',
    compared: report.executions + report.commands + report.snapshots,
    differences: [
      ...report.drift.map(({ table, key, field, stored, expected }) => ({
        surface: 'read_model' as const,
        key,
        field: `${table}.${field}`,
        replayed: expected,
        live: stored,
      })),
      ...broken,
    ],
  };
}

/** Rows and log are those of the same moment, whatever is appended meanwhile. */
async function atOneMoment<T>(pool: pg.Pool, look: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await look(client);
  } finally {
    await client.query('ROLLBACK').catch(() => undefined);
    client.release();
  }
}
