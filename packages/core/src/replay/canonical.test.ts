import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalText } from './canonical.js';
import { parseExactJson } from './exact-json.js';

const canonical = (text: string) => canonicalText(parseExactJson(text));

describe('numbers', () => {
  it.each([
    ['1', '1'],
    ['1.0', '1.0'],
    ['-7', '-7'],
    ['0', '0'],
    ['0.0', '0.0'],
    ['-0', '-0.0'],
    ['-0.0', '-0.0'],
    ['1.50', '1.5'],
    ['2e3', '2000.0'],
    ['0.00001', '0.00001'],
    ['0.000012', '0.000012'],
    ['0.000001', '1e-6'],
    ['1e-7', '1e-7'],
    ['1e15', '1000000000000000.0'],
    ['1e16', '1e+16'],
    ['1.5e300', '1.5e+300'],
    ['-1.5E+300', '-1.5e+300'],
    ['123456789.125', '123456789.125'],
    ['9007199254740993', '9007199254740993'],
    ['9007199254740993.0', '9007199254740992.0'],
    ['9223372036854775808', '9223372036854775808'],
    ['18446744073709551615', '18446744073709551615'],
    ['18446744073709551616', '1.8446744073709552e+19'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['-9223372036854775809', '-9.223372036854776e+18'],
    ['1180591620717411303424', '1.1805916207174113e+21'],
    ['1e400', 'null'],
  ])('%s is written %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it('are the same number when they are read again', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Number(canonicalText(value))).toBe(value);
      }),
    );
  });
});

describe('text and keys', () => {
  it('escapes control characters, quotes and backslashes, and nothing else', () => {
    expect(canonicalText('a"\\/\b\t\n\f\r\u0001\u007fé😀\u2028')).toBe(
      '"a\\"\\\\/\\b\\t\\n\\f\\r\\u0001\u007fé😀\u2028"',
    );
  });

  it('sorts keys at every level by code point, not by UTF-16 code unit', () => {
    expect(canonical('{"\\uffff":1,"😀":2,"z":{"b":1,"a":2},"10":3,"9":4}')).toBe(
      '{"10":3,"9":4,"z":{"a":2,"b":1},"\uffff":1,"😀":2}',
    );
  });

  it('sorts keys as their UTF-8 bytes sort', () => {
    const bytes = (key: string) => Buffer.from(key, 'utf8');
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 4 }), { maxLength: 12 }), (keys) => {
        const inOrder = keys.toSorted((a, b) => bytes(a).compare(bytes(b)));
        const object = Object.fromEntries(keys.map((key) => [key, 0]));
        expect(canonicalText(object)).toBe(`{${inOrder.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`);
      }),
    );
  });

  it('keeps a key that is called __proto__', () => {
    expect(canonical('{"__proto__":1.0}')).toBe('{"__proto__":1.0}');
  });

  it('gives one text for one document, however it was written', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        const once = canonical(text);
        expect(canonical(once)).toBe(once);
        expect(canonical(JSON.stringify(JSON.parse(text), null, 2))).toBe(once);
      }),
    );
  });
});
