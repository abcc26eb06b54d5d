import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareIds, EPOCH_MS, type Id, idFromTimestampMs, idTimestampMs, idToBigInt, parseId } from './index.js';

const MAX = 2n ** 63n - 1n;
const anyId = fc.bigInt({ min: 0n, max: MAX });

function id(value: string | number | bigint): Id {
  const parsed = parseId(value);
  if (parsed === undefined) throw new Error(`not an id: ${value}`);
  return parsed;
}

describe('parseId', () => {
  it.each([
    ['a decimal string', '320816801799737344', '320816801799737344'],
    ['zero', '0', '0'],
    ['the largest id', MAX.toString(), MAX.toString()],
    ['a safe integer', 42, '42'],
    ['negative zero', -0, '0'],
    ['a bigint', 320816801799737344n, '320816801799737344'],
  ])('accepts %s', (_, value, expected) => {
    expect(parseId(value)).toBe(expected);
  });

  it.each([
    ['one above the largest', (MAX + 1n).toString()],
    ['a bigint above the largest', MAX + 1n],
    ['30 digits', '1'.repeat(30)],
    ['a leading zero', '007'],
    ['a plus sign', '+7'],
    ['a negative string', '-1'],
    ['a negative number', -1],
    ['a negative bigint', -1n],
    ['a float', 1.5],
    ['a float as text', '1.0'],
    ['an exponent', '1e3'],
    ['a number that was already rounded', Number('320816801799737344')],
    ['the empty string', ''],
    ['spaces around', ' 7 '],
    ['a line feed at the end', '7\n'],
    ['hexadecimal', '0x10'],
    ['digits of another script', '٣'],
    ['null', null],
    ['undefined', undefined],
    ['an object', {}],
    ['NaN', Number.NaN],
  ])('refuses %s', (_, value) => {
    expect(parseId(value)).toBeUndefined();
  });

  it('round-trips every 63-bit integer through text and bigint', () => {
    fc.assert(
      fc.property(anyId, (value) => {
        expect(idToBigInt(id(value))).toBe(value);
        expect(parseId(value.toString())).toBe(id(value));
      }),
    );
  });
});

describe('compareIds', () => {
  it('orders like the integers', () => {
    const neighbours = fc
      .bigInt({ min: 0n, max: MAX - 2n })
      .chain((a) => fc.tuple(fc.constant(a + 1n), fc.bigInt(a, a + 2n)));
    fc.assert(
      fc.property(fc.oneof(fc.tuple(anyId, anyId), neighbours), ([a, b]) => {
        expect(compareIds(id(a), id(b))).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });
});

describe('time in ids', () => {
  it('reads the millisecond of a known snowflake', () => {
    const at = Date.UTC(2026, 4, 31, 3, 14, 15);
    const snowflake = (BigInt(at - EPOCH_MS) << 22n) | (601n << 12n) | 77n;
    expect(idTimestampMs(id(snowflake))).toBe(at);
  });

  it('gives the lower bound of a millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 41 - 1 }), fc.bigInt({ min: 0n, max: 2n ** 22n - 1n }), (ms, low) => {
        const bound = idFromTimestampMs(EPOCH_MS + ms);
        const minted = id((BigInt(ms) << 22n) | low);
        expect(idTimestampMs(bound)).toBe(EPOCH_MS + ms);
        expect(compareIds(bound, minted)).not.toBe(1);
        if (ms > 0) expect(idTimestampMs(id(idToBigInt(bound) - 1n))).toBe(EPOCH_MS + ms - 1);
      }),
    );
  });

  it('starts at zero for times before the epoch', () => {
    expect(idFromTimestampMs(EPOCH_MS - 1)).toBe('0');
    expect(idFromTimestampMs(Number.NEGATIVE_INFINITY)).toBe('0');
  });

  it('refuses a time that no id can carry', () => {
    expect(() => idFromTimestampMs(EPOCH_MS + 2 ** 41)).toThrow(RangeError);
    expect(() => idFromTimestampMs(Number.NaN)).toThrow(RangeError);
  });
});
