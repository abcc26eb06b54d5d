import type { Json } from '@noetl/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differences } from './match.js';

const json = fc.jsonValue() as fc.Arbitrary<Json>;

describe('what is expected and what came', () => {
  it('differ in nothing when they are equal', () => {
    fc.assert(fc.property(json, (value) => differences(value, structuredClone(value)).length === 0));
  });

  it('may have more keys at any depth', () => {
    fc.assert(
      fc.property(json, json, (value, more) => {
        const actual = { a: { b: value, other: more }, another: more };
        return differences({ a: { b: value } }, actual).length === 0;
      }),
    );
  });

  it('differ when a value differs, with its place', () => {
    const expected = { order: { items: [{ price: 1 }, { price: 2 }] } };
    const actual = { order: { items: [{ price: 1 }, { price: 3 }], total: 4 } };
    expect(differences(expected, actual)).toEqual([{ place: '.order.items[1].price', expected: 2, actual: 3 }]);
  });

  it('differ when a key is missing', () => {
    expect(differences({ 'a b': 1 }, {})).toEqual([{ place: '["a b"]', expected: 1 }]);
  });

  it('tell items that nobody expects', () => {
    expect(differences([1], [1, 2])).toEqual([{ place: '[1]', actual: 2 }]);
  });

  it('tell items that did not come', () => {
    expect(differences([1, null], [1])).toEqual([{ place: '[1]', expected: null }]);
  });

  it('compare numbers beyond 2^53 digit by digit', () => {
    expect(differences(9007199254740993n, 9007199254740993n)).toEqual([]);
    expect(differences(9007199254740993n, 9007199254740992n)).toHaveLength(1);
  });

  it('tell every difference, not only the first', () => {
    expect(differences({ a: 1, b: [2], c: 'x' }, { a: 2, b: 2, c: 'x' })).toHaveLength(2);
  });
});
