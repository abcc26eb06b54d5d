import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseId } from '../ids/index.js';
import { canonicalJson, parseJson, rawId, stringifyJson, toStorableText } from './index.js';

describe('stringifyJson', () => {
  it('writes a bigint as a bare integer', () => {
    expect(stringifyJson({ event_id: 320816801799737344n, list: [1n, -2n] })).toBe(
      '{"event_id":320816801799737344,"list":[1,-2]}',
    );
  });

  it('writes an id as a bare integer through rawId', () => {
    const id = parseId('320816801799737344');
    if (id === undefined) throw new Error('not an id');
    expect(stringifyJson({ id, raw: rawId(id) })).toBe('{"id":"320816801799737344","raw":320816801799737344}');
  });

  it('keeps the rules of JSON.stringify beside a bigint', () => {
    const value = {
      dropped: undefined,
      call: () => 1,
      date: new Date(Date.UTC(2026, 0, 2)),
      notANumber: Number.NaN,
      holes: [undefined, Symbol('s'), 1],
      text: 'quote " and \u2028 and \ud800',
      nested: { toJSON: (key: string) => `at ${key}` },
      boxed: [Object(1), Object('s'), Object(true)],
      map: new Map([[1, 2]]),
    };
    expect(stringifyJson({ n: 1n, ...value })).toBe(`{"n":1,${JSON.stringify(value).slice(1)}`);
  });

  it('agrees with JSON.stringify on every plain value, with and without a bigint beside it', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withNullPrototype: true }), (value) => {
        const native = JSON.stringify(value) ?? 'null';
        expect(stringifyJson(value)).toBe(native);
        expect(stringifyJson([value, 1n])).toBe(`[${native},1]`);
      }),
    );
  });

  it('refuses a value that refers to itself', () => {
    const circular: Record<string, unknown> = { n: 1n };
    circular.self = circular;
    expect(() => stringifyJson(circular)).toThrow(TypeError);
    expect(() => stringifyJson({ plain: circular.self })).toThrow(TypeError);
  });

  it('keeps a __proto__ key', () => {
    expect(stringifyJson(parseJson('{"__proto__":320816801799737344}'))).toBe('{"__proto__":320816801799737344}');
  });

  it('writes null for what JSON cannot express', () => {
    expect(stringifyJson(undefined)).toBe('null');
  });
});

describe('canonicalJson', () => {
  it('sorts keys at every level', () => {
    expect(canonicalJson({ b: 1, a: [{ d: 1n, c: null }], B: undefined })).toBe('{"a":[{"c":null,"d":1}],"b":1}');
  });

  it('is the same for documents that differ in key order only', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([k, v]) => [k, reversed(v)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe('toStorableText', () => {
  it.each([
    ['NUL', '"a\\u0000b"', '"a\\ufffdb"'],
    ['a high surrogate alone', '"\\ud83d!"', '"\\ufffd!"'],
    ['a low surrogate alone', '"\\uDE00"', '"\\ufffd"'],
    ['two high surrogates', '"\\ud83d\\ud83d"', '"\\ufffd\\ufffd"'],
    ['a half before a pair', '"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['NUL after an escaped backslash', '"\\\\\\u0000"', '"\\\\\\ufffd"'],
    ['NUL in a key', '{"\\u0000":1}', '{"\\ufffd":1}'],
  ])('replaces %s', (_, text, expected) => {
    expect(toStorableText(text)).toBe(expected);
  });

  it.each([
    ['a whole pair', '"\\ud83d\\ude00"'],
    ['an escaped backslash before u0000', '"\\\\u0000"'],
    ['other escapes', '"\\u00e9\\n\\u2028"'],
  ])('keeps %s', (_, text) => {
    expect(toStorableText(text)).toBe(text);
  });

  it('leaves no character that Postgres refuses, and nothing else changes', () => {
    const troubled = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u0000', '"', '\n'),
        fc.string({ minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(troubled, (text) => {
        const stored = JSON.parse(toStorableText(JSON.stringify(text)));
        expect(stored).toBe(Buffer.from(text, 'utf8').toString('utf8').replaceAll('\0', '\ufffd'));
      }),
    );
  });
});
