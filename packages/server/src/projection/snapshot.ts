// Snapshots of states on demand. The log writes them by itself every now and then (log/snapshots.ts); here somebody asks for one now.
import type { Id } from '@noetl/core';
import type { Pools } from '../db/index.js';
import { type Log, saveSnapshots, takeSnapshot } from '../log/index.js';
import { highestEventId } from './store.js';

export interface Advanced {
  /** The highest event id that is folded in. */
  readonly version: Id;
  readonly events: number;
}

export class NoEvents extends Error {
  override readonly name = 'NoEvents';
}

/** Folds the log of one execution to its end and stores the state. */
export async function advanceSnapshot(log: Log, pools: Pools, id: Id): Promise<Advanced> {
  const state = await log.state(id);
  if (state === undefined) throw new NoEvents('No events found for execution');
  const { pool } = pools.forExecution(id);
  // Taken at once: a state that was read moves on with the next read.
  const taken = takeSnapshot(state);
  const version = await highestEventId(pool, id, taken.version);
  if (version === undefined) throw new NoEvents('No events found for execution');
  await saveSnapshots(pool, [taken]);
  return { version, events: taken.version };
}
