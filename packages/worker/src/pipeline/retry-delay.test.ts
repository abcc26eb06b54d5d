import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Backoff, LONGEST_DELAY_MS, retryDelayMs } from './retry-delay.js';

const backoff = fc.constantFrom<Backoff>('none', 'linear', 'exponential', 'constant');
// Whole milliseconds: `fc.double` draws mostly numbers that are next to nothing.
const delaySeconds = fc.integer({ min: 0, max: 400_000 }).map((ms) => ms / 1000);
const retry = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 5000 }));
const chance = fc.integer({ min: 0, max: 999 }).map((part) => part / 1000);

function delay(kind: Backoff, seconds: number, n: number, random = 0.5, retryAfterSeconds?: number): number {
  return retryDelayMs({ backoff: kind, delaySeconds: seconds, retry: n, retryAfterSeconds, random: () => random });
}

describe('the delay before a retry', () => {
  it.each<[Backoff, number[]]>([
    ['none', [0, 0, 0, 0]],
    ['constant', [1500, 1500, 1500, 1500]],
    ['linear', [1500, 3000, 4500, 6000]],
    ['exponential', [1500, 3000, 6000, 12_000]],
  ])('%s', (kind, expected) => {
    expect([1, 2, 3, 4].map((n) => delay(kind, 1.5, n))).toEqual(expected);
  });

  it('is always a whole number of milliseconds between nothing and the cap', () => {
    fc.assert(
      fc.property(backoff, delaySeconds, retry, chance, fc.option(delaySeconds), (kind, seconds, n, random, after) => {
        const ms = delay(kind, seconds, n, random, after ?? undefined);
        expect(Number.isInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(LONGEST_DELAY_MS);
      }),
    );
  });

  it('never shrinks from one retry to the next, chance aside', () => {
    fc.assert(
      fc.property(backoff, delaySeconds, retry, (kind, seconds, n) => {
        expect(delay(kind, seconds, n + 1)).toBeGreaterThanOrEqual(delay(kind, seconds, n));
      }),
    );
  });

  it('is spread by at most a fifth when it is exponential', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }).map((tenths) => tenths / 10),
        fc.integer({ min: 1, max: 4 }),
        chance,
        (d, n, r) => {
          const plan = d * 2 ** (n - 1) * 1000;
          expect(Math.abs(delay('exponential', d, n, r) - plan)).toBeLessThanOrEqual(plan * 0.2 + 1);
        },
      ),
    );
  });

  it('is not left to chance otherwise', () => {
    fc.assert(
      fc.property(fc.constantFrom<Backoff>('none', 'linear', 'constant'), delaySeconds, retry, chance, (k, d, n, r) => {
        expect(delay(k, d, n, r)).toBe(delay(k, d, n, 0));
      }),
    );
  });

  it('is at least what the target asked for, up to the cap', () => {
    fc.assert(
      fc.property(backoff, delaySeconds, retry, chance, delaySeconds, (kind, seconds, n, random, after) => {
        expect(delay(kind, seconds, n, random, after)).toBeGreaterThanOrEqual(
          Math.min(Math.round(after * 1000), LONGEST_DELAY_MS),
        );
      }),
    );
  });
});
