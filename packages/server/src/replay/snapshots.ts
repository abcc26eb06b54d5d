// Stored states, so that a fold of a long log need not begin at its first event. They only save time: one that does not hold is
// ignored, counted and written anew, and nothing is ever answered that a fold from zero would not give.
//
// A stored state stands on a rung: the states of 10,000 to 20,000 events share the first, those up to 40,000 the second, and so on. Each
// rung keeps the newest. So there are few of them however long the log is, they take at most twice the space of the largest, and a
// cutoff anywhere in the log finds one that saves a good part of the fold.
import {
  type Id,
  REPLAY_AGGREGATE_TYPE,
  type ReplayState,
  replayAggregateId,
  restoreReplayState,
  storeReplayState,
  takeReplayState,
} from '@noetl/core';
import type { Logger } from 'pino';
import type { Pools } from '../db/index.js';
import type { LogFold } from './fold.js';
import type { ReplayMetrics } from './metrics.js';
import type { Cutoff } from './request.js';
import { deleteRung, hasStraggler, newestRung, newestTime, type Queryable, writeRung } from './store.js';

export interface Snapshots {
  /** The newest usable state at or before the cutoff. */
  find(id: Id, cutoff: Cutoff, maxEvents: number): Promise<ReplayState | undefined>;
  /**
   * Stores where a fold has come to, in the background, when it is worth it.
   * @param began how many events it began with
   * @param size of the state as text
   */
  offer(id: Id, began: number, folded: LogFold, size: number): void;
  idle(): Promise<void>;
}

/** Fewer events than this are folded faster than a state is read. */
const WORTH = 10_000;
/** A larger state is not stored: reading and checking it takes as long as folding. */
const MAX_SIZE = 32 * 1024 * 1024;

export function createSnapshots(options: { pools: Pools; metrics: ReplayMetrics; logger: Logger }): Snapshots {
  const { pools, metrics, logger } = options;
  // One at a time: this is never urgent, and each holds a whole state.
  let writing: Promise<void> | undefined;

  async function find(id: Id, cutoff: Cutoff, maxEvents: number): Promise<ReplayState | undefined> {
    const { pool } = pools.forExecution(id);
    const aggregateId = replayAggregateId(subjectOf(id));
    // Each that does not hold is deleted, so this ends.
    for (;;) {
      const query = { aggregateId, aggregateType: REPLAY_AGGREGATE_TYPE, cutoff, maxEvents };
      const newest = await newestRung(pool, query);
      if (newest === undefined) return undefined;
      const restored = restoreReplayState(newest.stored);
      if (!restored.usable) {
        logger.warn(
          { execution_id: id, problem: restored.problem },
          'a stored replay state does not hold; it is ignored',
        );
        metrics.snapshot('ignored');
      } else if (await hasStraggler(pool, id, newest.eventCount, newest.stored.version)) {
        metrics.snapshot('straggler');
      } else {
        metrics.snapshot('used');
        return restored.state;
      }
      await deleteRung(pool, aggregateId, REPLAY_AGGREGATE_TYPE, newest.rung);
    }
  }

  async function store(db: Queryable, id: Id, state: ReplayState): Promise<void> {
    const stored = storeReplayState(state);
    if (stored === undefined) return;
    const newest = await newestTime(db, id, 1, state.event_count);
    if (newest === null) return;
    if (await writeRung(db, rungOf(state.event_count), stored, newest)) metrics.snapshot('written');
  }

  return {
    async find(id, cutoff, maxEvents) {
      try {
        return await find(id, cutoff, maxEvents);
      } catch (error) {
        // The fold from zero needs none of this; if the database is the trouble, it will say so.
        metrics.snapshot('failed');
        logger.warn({ err: error, execution_id: id }, 'the stored replay states could not be read');
        return undefined;
      }
    },
    offer(id, began, { fold, version }, size) {
      if (writing !== undefined || fold.event_count - began < WORTH) return;
      if (size > MAX_SIZE) return metrics.snapshot('too_large');
      // Else the state is not that of the first events, and nobody could tell later whether one was missing.
      if (version !== fold.event_count) return;
      const state = takeReplayState(fold, subjectOf(id));
      writing = store(pools.forExecution(id).pool, id, state)
        .catch((error: unknown) => {
          metrics.snapshot('failed');
          logger.warn({ err: error, execution_id: id }, 'a replay state could not be stored');
        })
        .finally(() => {
          writing = undefined;
        });
    },
    idle: async () => writing,
  };
}

function rungOf(events: number): number {
  return Math.floor(Math.log2(events / WORTH));
}

/** A state is stored as nobody's in particular; whoever asks gets it with the names they asked with. */
function subjectOf(execution_id: Id) {
  return { tenant_id: 'default', organization_id: 'default', execution_id, projection: 'all' } as const;
}
