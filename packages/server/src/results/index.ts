// Results that are too large for the log: stored once, referred to by the events.
import { eachShard, type Pools } from '../db/index.js';
import { createResolver, type Resolver } from './resolver.js';
import { deleteExpired, readResult } from './store.js';

export type { HeldReferences, Resolver } from './resolver.js';
export { resultRoutes } from './routes.js';
export { readResult } from './store.js';

const SWEEP = 500;

export function resolverOf(pools: Pools): Resolver {
  return createResolver({
    read: ({ executionId, resultId }) => readResult(pools.forExecution(executionId).pool, executionId, resultId),
  });
}

/** Deletes what has expired. Readers do not see it any more anyway; this gives the space back. */
export async function sweepResults(pools: Pools): Promise<number> {
  const counts = await eachShard(pools, async ({ pool }) => {
    let count = 0;
    let deleted: number;
    do {
      deleted = await deleteExpired(pool, SWEEP);
      count += deleted;
    } while (deleted === SWEEP);
    return count;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}
