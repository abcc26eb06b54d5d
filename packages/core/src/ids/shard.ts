// Which shard holds an execution: XXH64 (seed 0) of the id's eight little-endian bytes, modulo the shard count.
// What must stay true: the value for a given id and count never changes. Data on disk, the gateway and reference
// workers all rely on the same function.
import type { Id } from './id.js';

const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;
const INPUT_BYTES = 8n;

export function shardFor(id: Id, shards: number): number {
  return shardForInt64(BigInt(id), shards);
}

/** The same for any signed 64-bit integer. One shard or less means shard 0. */
export function shardForInt64(value: bigint, shards: number): number {
  if (!Number.isSafeInteger(shards)) throw new RangeError(`shard count must be an integer, not ${shards}`);
  if (shards <= 1) return 0;
  return Number(xxh64OfInt64(value) % BigInt(shards));
}

/** XXH64 for exactly eight bytes of input, where the general algorithm reduces to one lane and the final mixing. */
function xxh64OfInt64(value: bigint): bigint {
  const lane = u64(rotateLeft(u64(u64(value) * P2), 31n) * P1);
  let hash = u64(P5 + INPUT_BYTES) ^ lane;
  hash = u64(rotateLeft(hash, 27n) * P1 + P4);
  hash = u64((hash ^ (hash >> 33n)) * P2);
  hash = u64((hash ^ (hash >> 29n)) * P3);
  return hash ^ (hash >> 32n);
}

function rotateLeft(value: bigint, bits: bigint): bigint {
  return u64(value << bits) | (value >> (64n - bits));
}

function u64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}
