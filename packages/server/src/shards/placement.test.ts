import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { misplacement, type Names, type ShardRole } from './placement.js';

const namesOf = (count: number): Names => ({
  cluster: 'the cluster',
  shards: Array.from({ length: count }, (_, index) => `shard ${index}`),
});
const rolesOf = (count: number, installation = 'a'): ShardRole[] =>
  Array.from({ length: count }, (_, index) => ({ installation, index, count }));
const settled = (count: number) => ({ installation: 'a', count, settled: true });

const counts = fc.integer({ min: 1, max: 12 });
/** A number of shards and their places in some order. */
const orders = counts.chain((count) => {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return fc.tuple(fc.constant(count), fc.shuffledSubarray(indexes, { minLength: count, maxLength: count }));
});

describe('databases that know their place', () => {
  it('are accepted in their own order, and in no other', () => {
    fc.assert(
      fc.property(orders, ([count, order]) => {
        const roles = rolesOf(count);
        const shards = order.map((index) => roles[index]);
        const problem = misplacement({ cluster: settled(count), shards }, namesOf(count));
        expect(problem === undefined).toBe(order.every((index, place) => index === place));
      }),
    );
  });

  it('are accepted in their own number, and in no other', () => {
    fc.assert(
      fc.property(counts, counts, (before, now) => {
        const known: (ShardRole | undefined)[] = rolesOf(before);
        const shards = Array.from({ length: now }, (_, index) => known[index]);
        const problem = misplacement({ cluster: settled(before), shards }, namesOf(now));
        expect(problem === undefined).toBe(before === now);
      }),
    );
  });

  it('are refused when one of them is another database, empty or of another installation', () => {
    fc.assert(
      fc.property(counts, fc.nat(), fc.boolean(), (count, nth, isEmpty) => {
        const place = nth % count;
        const stranger = isEmpty ? undefined : { installation: 'b', index: place, count };
        const shards = rolesOf(count).map((role, index) => (index === place ? stranger : role));
        expect(misplacement({ cluster: settled(count), shards }, namesOf(count))).toContain(`shard ${place}`);
      }),
    );
  });
});

describe('databases that no server has run on', () => {
  it('may be given any place, whatever a start that failed half-way has noted', () => {
    fc.assert(
      fc.property(orders, fc.nat(), ([count, order], noted) => {
        const roles = rolesOf(count);
        const shards = order.map((index, place) => (place < noted ? roles[index] : undefined));
        const cluster = { installation: 'a', count, settled: false };
        expect(misplacement({ cluster, shards }, namesOf(count))).toBeUndefined();
      }),
    );
  });

  it('are refused a shard that belongs to an installation', () => {
    const shards = [undefined, { installation: 'b', index: 1, count: 2 }];
    expect(misplacement({ cluster: undefined, shards }, namesOf(2))).toMatch(/^shard 1 does not belong to the cluster/);
  });
});
