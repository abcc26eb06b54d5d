import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, JsonSyntaxError, parseJson, stringifyJson } from './index.js';
import { lossless } from './parse-lossless.js';

/** Any JSON value with bigints of every size among its leaves, as `parseJson` may return it. */
const bigInteger = fc
  .bigInt({ min: -(2n ** 80n), max: 2n ** 80n })
  .filter((n) => n > BigInt(Number.MAX_SAFE_INTEGER) || n < BigInt(Number.MIN_SAFE_INTEGER));
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      // A huge whole number is written without a point, so it comes back as a bigint, and -0 comes back as 0.
      .filter((n) => !Number.isInteger(n) || (Number.isSafeInteger(n) && !Object.is(n, -0))),
    fc.integer(),
    bigInteger,
    fc.string({ unit: 'binary' }),
    fc.array(tie('json'), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie('json'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));

describe('integers', () => {
  it.each([
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740992', -9007199254740992n],
    ['320816801799737344', 320816801799737344n],
    ['123456789012345678901234567890', 123456789012345678901234567890n],
    ['1.0', 1],
    ['1e20', 1e20],
    ['12345678901234567890.5', Number('12345678901234567890.5')],
    ['12345678901234567890e1', Number('12345678901234567890e1')],
    ['0.12345678901234567890', Number('0.12345678901234567890')],
    ['-0', -0],
    ['0', 0],
  ])('reads %s', (text, expected) => {
    expect(parseJson(text)).toBe(expected);
  });

  it('keeps a long id next to everything else', () => {
    const text = '{"execution_id": 320816801799737344, "step": "start", "ids": [1, 320816801799737999], "ok": true}';
    expect(parseJson(text)).toEqual({
      execution_id: 320816801799737344n,
      step: 'start',
      ids: [1, 320816801799737999n],
      ok: true,
    });
  });

  it('leaves digits inside strings alone', () => {
    expect(parseJson('{"id":"320816801799737344","quote":"\\\\\\"320816801799737344"}')).toEqual({
      id: '320816801799737344',
      quote: '\\"320816801799737344',
    });
  });

  it('finds a long integer after strings that end in backslashes', () => {
    expect(parseJson('{"a":"\\\\","b":320816801799737344}')).toEqual({ a: '\\', b: 320816801799737344n });
  });

  it('refuses an integer of more than a thousand digits', () => {
    expect(() => parseJson(`[${'9'.repeat(1001)}]`)).toThrow(/more than 1000 digits/);
  });
});

describe('agreement with JSON.parse', () => {
  it('gives the same value for every document, up to the rounding of big integers', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom(undefined, 2, '\t'), (text, space) => {
        const spaced = JSON.stringify(JSON.parse(text), null, space);
        expect(rounded(lossless(spaced))).toEqual(rounded(JSON.parse(spaced)));
        expect(rounded(parseJson(spaced))).toEqual(rounded(JSON.parse(spaced)));
      }),
    );
  });

  it('accepts and refuses the same texts', () => {
    // Cut, doubled and spliced documents: near misses find more than random characters do.
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '\\u00',
      '-',
      '0',
      '01',
      '1.',
      'e5',
      'true',
      'nul',
      '\n',
      '\u0001',
      '\ufeff',
      'é',
    ];
    const nearMiss = fc
      .tuple(fc.json(), fc.nat(), fc.nat(), fc.constantFrom('', ...pieces))
      .map(([text, from, length, piece]) => {
        const at = from % (text.length + 1);
        return text.slice(0, at) + piece + text.slice(at + (length % 3));
      });
    const soup = fc.array(fc.constantFrom(...pieces, 'a', ' '), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(nearMiss, soup), (text) => {
        const native = attempt(() => JSON.parse(text));
        const ours = attempt(() => lossless(text));
        expect(ours.refused).toBe(native.refused);
        expect(rounded(ours.value)).toEqual(rounded(native.value));
      }),
      { numRuns: 3_000 },
    );
  });

  it('lets the last of two equal keys win', () => {
    expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 });
    expect(lossless('{"a":1,"a":320816801799737344}')).toEqual({ a: 320816801799737344n });
  });
});

it('round-trips every value with big integers', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(parseJson(stringifyJson(value))).toEqual(value);
    }),
  );
});

describe('errors', () => {
  it.each([
    ['', 'the JSON ends before any value, line 1 column 1'],
    ['{\n  "a": 1,\n  "b": [1, 2', 'the JSON ends in the middle of an array, line 3 column 13'],
    ['{"a"', 'the JSON ends in the middle of an object, line 1 column 5'],
    ['{"a":', 'the JSON ends in the middle of an object, line 1 column 6'],
    ['"abc', 'the JSON ends in the middle of a string, line 1 column 5'],
    ['"abc\\', 'the JSON ends in the middle of a string, line 1 column 6'],
    ['[1,]', "expected a value, but there is ']', line 1 column 4"],
    ['{"a":1,}', "expected a key in double quotes, but there is '}', line 1 column 8"],
    ["{'a':1}", "expected a key in double quotes, but there is ''', line 1 column 2"],
    ['{"a" 1}', "expected ':' after the key, but there is '1', line 1 column 6"],
    ['[1 2]', "expected ',' or ']', but there is '2', line 1 column 4"],
    ['01', "nothing may follow the JSON value, but there is '1', line 1 column 2"],
    ['"a\nb"', 'a string may not hold the character U+000A unescaped, line 1 column 3'],
    ['"\\x"', 'a backslash in a string must start one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u, line 1 column 2'],
    ['"\\u12"', '\\u must be followed by four hexadecimal digits, line 1 column 2'],
    ['\ufeff{}', 'expected a value, but there is the character U+FEFF, line 1 column 1'],
    ['tru', "expected true, false, null or another value, but there is 't', line 1 column 1"],
  ])('%j: %s', (text, message) => {
    const { error } = attempt(() => parseJson(text));
    expect(error).toBeInstanceOf(JsonSyntaxError);
    expect(error).toHaveProperty('message', message);
  });

  it('carries offset, line and column', () => {
    const error = attempt(() => parseJson('[\n  1,\n  oops\n]')).error;
    expect(error).toMatchObject({ name: 'JsonSyntaxError', offset: 9, line: 3, column: 3 });
  });

  it('reports the same place with a long integer in the text', () => {
    expect(() => parseJson('[320816801799737344,\n oops]')).toThrow(/line 2 column 2/);
  });
});

describe('depth', () => {
  const nested = (depth: number, leaf = '') => '['.repeat(depth) + leaf + ']'.repeat(depth);

  it('allows 512 levels', () => {
    expect(() => parseJson(nested(512))).not.toThrow();
    expect(() => parseJson(nested(512, '320816801799737344'))).not.toThrow();
  });

  it('refuses 513 levels', () => {
    expect(() => parseJson(nested(513))).toThrow(/nested deeper than 512/);
    expect(() => parseJson('{"a":'.repeat(513) + '1'.repeat(16) + '}'.repeat(513))).toThrow(/nested deeper than 512/);
  });

  it('refuses a million levels without overflowing the stack', () => {
    expect(() => parseJson('['.repeat(1_000_000))).toThrow(JsonSyntaxError);
    expect(() => parseJson(nested(1_000_000))).toThrow(JsonSyntaxError);
  });

  it('does not count brackets inside strings', () => {
    expect(parseJson(`["${'['.repeat(2_000)}"]`)).toEqual(['['.repeat(2_000)]);
  });
});

describe('__proto__', () => {
  it.each(['{"__proto__":{"admin":true}}', '{"__proto__":{"admin":true},"id":320816801799737344}'])(
    'is data in %s',
    (text) => {
      const value = parseJson(text);
      if (!isObject(value)) throw new Error('not an object');
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.hasOwn(value, '__proto__')).toBe(true);
      expect('admin' in value).toBe(false);
    },
  );
});

function attempt<T>(work: () => T): { value?: T; error?: unknown; refused: boolean } {
  try {
    return { value: work(), refused: false };
  } catch (error) {
    return { error, refused: true };
  }
}

/** The value as JavaScript numbers carry it: bigints lose their last digits, as in JSON.parse. */
function rounded(value: unknown): unknown {
  return JSON.parse(stringifyJson(value));
}
