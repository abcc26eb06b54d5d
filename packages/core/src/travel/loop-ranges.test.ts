import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginItem, endItem, startLoopBar } from './loop-ranges.js';

const second = (count: number) => new Date(Date.UTC(2026, 10, 16) + count * 1_000).toISOString();

/** Items begin in the order of their indexes and end in any order. */
function played(total: number, ends: readonly number[]) {
  const loop = startLoopBar('loop', total);
  for (let index = 0; index < total; index++) beginItem(loop, index, second(index));
  for (const [turn, index] of ends.entries()) {
    const parts = [
      { part: 'queued' as const, from: second(index), to: second(index + 1) },
      { part: 'running' as const, from: second(index + 1), to: null },
    ];
    endItem(loop, index, { state: index % 3 === 0 ? 'failed' : 'done', parts, at: second(total + turn) });
  }
  return loop;
}

describe('ranges of items', () => {
  it('are few, in order, without gaps, and lose no item', () => {
    const run = fc
      .integer({ min: 1, max: 700 })
      .chain((total) =>
        fc.tuple(fc.constant(total), fc.shuffledSubarray(Array.from({ length: total }, (_, index) => index))),
      );
    fc.assert(
      fc.property(run, ([total, ends]) => {
        const { ranges } = played(total, ends);
        const sum = (field: 'commands' | 'open' | 'done' | 'failed') =>
          ranges.reduce((all, range) => all + range[field], 0);
        expect(ranges.length).toBeLessThanOrEqual(100);
        expect(sum('commands')).toBe(total);
        expect(sum('open')).toBe(total - ends.length);
        expect(sum('done') + sum('failed')).toBe(ends.length);
        for (const [index, range] of ranges.entries())
          expect(range.first).toBe(index === 0 ? 0 : (ranges[index - 1]?.last ?? 0) + 1);
      }),
    );
  });

  it('are single items while there are few', () => {
    const { ranges } = played(3, [2]);
    expect(ranges.map(({ first, last, open }) => ({ first, last, open }))).toEqual([
      { first: 0, last: 0, open: 1 },
      { first: 1, last: 1, open: 1 },
      { first: 2, last: 2, open: 0 },
    ]);
  });

  it('know how long their commands were queued and running', () => {
    expect(played(1, [0]).ranges).toMatchObject([{ queued_ms: 1_000, running_ms: 0 }]);
  });
});
