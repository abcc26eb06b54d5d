export { compareIds, EPOCH_MS, type Id, idFromTimestampMs, idTimestampMs, idToBigInt, parseId } from './id.js';
export { machineIdFromName } from './machine.js';
export { shardFor, shardForInt64 } from './shard.js';
export {
  ClockError,
  createSnowflake,
  MAX_AHEAD_MS,
  MAX_MACHINE_ID,
  type Snowflake,
  type SnowflakeOptions,
} from './snowflake.js';
