import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonSyntaxError, parseJson } from '../json/index.js';
import { ExactFloat, isExactObject, parseExactJson } from './exact-json.js';

/** Makes our own parser read what `JSON.parse` could have read as well. */
const withFloat = (text: string) => `[1.0,${text}]`;

describe('parseExactJson', () => {
  it('tells a float with a whole value from an integer', () => {
    expect(parseExactJson('[1, 1.0, 1e3, 0.5]')).toEqual([1, new ExactFloat(1), new ExactFloat(1000), 0.5]);
  });

  it('keeps every digit of an integer of 64 bits', () => {
    expect(parseExactJson('{"id":320816801799737344}')).toEqual({ id: 320816801799737344n });
  });

  it('does not take a float for an object', () => {
    expect(isExactObject(parseExactJson('1.0'))).toBe(false);
    expect(isExactObject(parseExactJson('{"a":1.0}'))).toBe(true);
  });

  it('lets the last of two equal keys win', () => {
    expect(parseExactJson('{"a":1.0,"a":2}')).toEqual({ a: 2 });
  });

  it('reads what parseJson reads, whichever parser it takes', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom(undefined, 2, '\t'), (text, space) => {
        const spaced = JSON.stringify(JSON.parse(text), null, space);
        expect(rounded(parseExactJson(spaced))).toEqual(rounded(parseJson(spaced)));
        expect(rounded(parseExactJson(withFloat(spaced)))).toEqual(rounded(parseJson(withFloat(spaced))));
      }),
    );
  });

  it('refuses what parseJson refuses, with the same words', () => {
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
      'nul',
      '\n',
      '\u0001',
      'é',
    ];
    const nearMiss = fc
      .tuple(fc.json(), fc.nat(), fc.nat(), fc.constantFrom('', ...pieces))
      .map(([text, from, length, piece]) => {
        const at = from % (text.length + 1);
        return withFloat(text.slice(0, at) + piece + text.slice(at + (length % 3)));
      });
    fc.assert(
      fc.property(nearMiss, (text) => {
        expect(complaint(() => parseExactJson(text))).toBe(complaint(() => parseJson(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses a text that nests too deeply', () => {
    expect(() => parseExactJson(`${'['.repeat(512)}1.0${']'.repeat(512)}`)).not.toThrow();
    expect(() => parseExactJson(`${'['.repeat(513)}1.0${']'.repeat(513)}`)).toThrow(JsonSyntaxError);
    expect(() => parseExactJson(`1.0${'['.repeat(1_000_000)}`)).toThrow(JsonSyntaxError);
  });
});

function complaint(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Both as plain numbers: what is left of the difference is nothing. */
function rounded(value: unknown): unknown {
  if (value instanceof ExactFloat) return value.value;
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).map(([key, member]) => [key, rounded(member)]);
  }
  return value;
}
