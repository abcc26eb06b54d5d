// Changes are complete: whoever has the old value and the changes has the new one.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Change, difference } from './difference.js';

const json = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Json>(null, true, 0, 1, '', 'x'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('json'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
})).json;

function applied(value: Json, change: Change): Json {
  const [head, ...rest] = change.path;
  if (head === undefined) return change.after ?? null;
  const inner = { ...change, path: rest };
  if (Array.isArray(value)) {
    const copy = [...value];
    const index = Number(head);
    if (rest.length === 0 && change.kind === 'removed') copy.length = Math.min(copy.length, index);
    else copy[index] = applied(copy[index] ?? null, inner);
    return copy;
  }
  const copy: JsonObject = isObject(value) ? { ...value } : {};
  if (rest.length === 0 && change.kind === 'removed') delete copy[head];
  else copy[head] = applied(copy[head] ?? null, inner);
  return copy;
}

it('leads from the one value to the other', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const { changes } = difference(before, after, Number.POSITIVE_INFINITY);
      expect(changes.reduce(applied, before)).toEqual(after);
    }),
  );
});

it('of a value with a copy of it is nothing', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(difference(value, structuredClone(value), 10)).toEqual({ changes: [], truncated: false });
    }),
  );
});

it('is cut where there is too much of it, and says so', () => {
  const before = { a: 1, b: 1, c: 1 };
  const { changes, truncated } = difference(before, { a: 2, b: 2, c: 2 }, 2);
  expect({ count: changes.length, truncated }).toEqual({ count: 2, truncated: true });
  expect(difference(before, { a: 2, b: 2, c: 1 }, 2).truncated).toBe(false);
});

it('tells a long list as a whole', () => {
  const long = Array.from({ length: 300 }, (_, index) => index);
  const { changes } = difference(long, [...long.slice(1), 0], 10);
  expect(changes).toMatchObject([{ path: [], kind: 'changed' }]);
  expect(difference(long, [...long], 10).changes).toEqual([]);
});
