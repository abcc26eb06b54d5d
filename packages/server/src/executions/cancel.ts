// Cancelling and finalizing: a terminal event from outside. Children are cancelled with their parent, each in its own log.
import type { Id } from '@noetl/core';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { Log } from '../log/index.js';
import { childrenOf } from './store.js';

const MAX_DEPTH = 64;

/** The executions that were running and are cancelled now; the one asked for comes first. */
export async function cancelTree(log: Log, pools: Pools, id: Id, reason: string, cascade: boolean): Promise<Id[]> {
  const cancelled = (await cancelOne(log, id, reason)) ? [id] : [];
  let level: Id[] = [id];
  for (let depth = 0; cascade && level.length > 0 && depth < MAX_DEPTH; depth++) {
    const parents = level;
    level = (await Promise.all(pools.shards.map((shard) => childrenOf(shard.pool, parents)))).flat();
    const results = await Promise.all(level.map((child) => cancelOne(log, child, `parent ${id}: ${reason}`)));
    cancelled.push(...level.filter((_, index) => results[index]));
  }
  return cancelled;
}

async function cancelOne(log: Log, id: Id, reason: string): Promise<boolean> {
  const [outcome] = await log.append(id, [{ type: 'cancel', reason }]);
  if (outcome?.refused === 'not_started') throw new ApiProblem('not_found', `Execution not found: ${id}`);
  return outcome?.refused === undefined;
}
