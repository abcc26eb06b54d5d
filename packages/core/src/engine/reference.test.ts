import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseId } from '../ids/index.js';
import { formatRef, parseRef, valueOfStored } from './reference.js';

const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((value) => parseId(value) ?? parseId(0));

it('every address can be read back, whatever its name', () => {
  fc.assert(
    fc.property(id, fc.string({ minLength: 1 }), id, (executionId, name, resultId) => {
      if (executionId === undefined || resultId === undefined) return;
      expect(parseRef(formatRef({ executionId, name, resultId }))).toEqual({ executionId, name, resultId });
    }),
  );
});

it.each([
  '',
  'noetl://execution/1/result/2',
  'noetl://execution/x/result/name/2',
  'noetl://execution/1/result/name/0x2',
  'noetl://default/default/results/1/step/0/0/1',
  'https://execution/1/result/name/2',
])('%j is not an address', (text) => expect(parseRef(text)).toBeUndefined());

it('the fields of a list of tools are beside their labels', () => {
  expect(valueOfStored({ make: { rows: [1] }, _pipeline: ['make'] })).toMatchObject({ make: { rows: [1] }, rows: [1] });
});

it.each([[[1, 2]], ['text'], [{ a: { b: 1 } }], [null]])('%j is what it is', (stored) => {
  expect(valueOfStored(stored)).toEqual(stored);
});
