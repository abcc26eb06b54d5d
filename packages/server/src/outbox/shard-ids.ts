// Every shard numbers its outbox rows by itself, so the same number exists on each. Outside, a row is known by its number and its shard in
// one integer: `number * shards + shard`. With one shard that is the number itself. The number of shards never changes (docs/operations.md).
import { type Id, idToBigInt, parseId } from '@noetl/core';

export interface LocalId {
  readonly shard: number;
  readonly id: Id;
}

export function toOutboxId(local: LocalId, shards: number): Id {
  return asId(idToBigInt(local.id) * BigInt(shards) + BigInt(local.shard));
}

export function fromOutboxId(id: Id, shards: number): LocalId {
  const value = idToBigInt(id);
  return { shard: Number(value % BigInt(shards)), id: asId(value / BigInt(shards)) };
}

function asId(value: bigint): Id {
  const id = parseId(value);
  if (id === undefined) throw new RangeError(`${value} is beyond the ids an outbox can give`);
  return id;
}
