// Where subscriptions live. A subscription's id says its shard, as for every log; and all subscriptions of one path live on one shard,
// because the index that allows a path only one living subscription can watch over one database only. Both hold when ids are minted
// until one falls on the path's shard.
import { createHash } from 'node:crypto';
import { type Id, shardForInt64 } from '@noetl/core';
import type { Pools, Shard } from '../db/index.js';

export function homeOf(pools: Pools, path: string): Shard {
  const hash = createHash('sha256').update(path).digest().readBigInt64BE();
  const home = pools.shards[shardForInt64(hash, pools.shards.length)];
  if (home === undefined) throw new Error(`no shard for the path '${path}'`);
  return home;
}

export function mintIdAt(pools: Pools, home: Shard, nextId: () => Id): Id {
  for (;;) {
    const id = nextId();
    if (pools.forExecution(id) === home) return id;
  }
}
