export { lead, type MachineLease, resign, takeMachineLease } from './leases.js';
export { migrate } from './migrate.js';
export { ensurePartitions, partitionName } from './partitions.js';
export { openPools, type Pools, type PoolsConfig, type Shard, shardUrl } from './pools.js';
export { isTransient } from './transient.js';
