import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffSeconds, storableError } from './backoff.js';

describe('the wait after a failed delivery', () => {
  it.each([
    [0, 300, 1],
    [1, 300, 1],
    [2, 300, 2],
    [5, 300, 16],
    [9, 300, 256],
    [20, 300, 256],
    [5, 10, 10],
    [3, 0, 0],
    [3, -7, 0],
    [-5, 300, 1],
  ])('is, after %i attempts and with at most %i s, %i s', (attempts, max, seconds) => {
    expect(backoffSeconds(attempts, max)).toBe(seconds);
  });

  it('never shrinks with more attempts and never exceeds the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: -10, max: 1_000 }), fc.integer({ min: 0, max: 100_000 }), (attempts, max) => {
        const wait = backoffSeconds(attempts, max);
        expect(wait).toBeLessThanOrEqual(Math.min(max, 256));
        expect(backoffSeconds(attempts + 1, max)).toBeGreaterThanOrEqual(wait);
      }),
    );
  });
});

describe('the error of a failed delivery', () => {
  it('is cut at 2,000 characters and never inside one', () => {
    expect(Array.from(storableError('😀'.repeat(2_500)))).toHaveLength(2_000);
  });

  it('holds no U+0000', () => {
    expect(storableError('a\0b')).toBe('a\u{fffd}b');
  });
});
