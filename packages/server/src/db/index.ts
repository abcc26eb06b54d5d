export { eachShard, fromAnyShard } from './each-shard.js';
export { type Leader, lead, leaderOf, type MachineLease, resign, takeMachineLease } from './leases.js';
export { migrate } from './migrate.js';
export { ensurePartitionOf, ensurePartitions, partitionName } from './partitions.js';
export { isoFromPostgres, openPools, type Pools, type PoolsConfig, type Shard, shardUrl } from './pools.js';
export { isTransient } from './transient.js';
