import type { Id } from '@noetl/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromOutboxId, toOutboxId } from './shard-ids.js';

const anyRow = fc.record({ shard: fc.nat(15), id: fc.bigInt({ min: 1n, max: 2n ** 58n }) });

describe('the id of an outbox row', () => {
  it('leads back to its shard and its number', () => {
    fc.assert(
      fc.property(anyRow, ({ shard, id }) => {
        const local = { shard, id: id.toString() as Id };
        expect(fromOutboxId(toOutboxId(local, 16), 16)).toEqual(local);
      }),
    );
  });

  it('is the number itself where there is one shard', () => {
    expect(toOutboxId({ shard: 0, id: '42' as Id }, 1)).toBe('42');
  });

  it('orders the rows of a shard as their numbers do', () => {
    fc.assert(
      fc.property(anyRow, ({ shard, id }) => {
        const at = (value: bigint) => BigInt(toOutboxId({ shard, id: value.toString() as Id }, 16));
        expect(at(id + 1n)).toBeGreaterThan(at(id));
      }),
    );
  });
});
