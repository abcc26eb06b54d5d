import { compileTemplate, type Json, scopeOf } from '@noetl/core';
import { expect, it } from 'vitest';
import { controlPlane, count } from '../control-plane.fixture.js';
import { silentLog } from '../log.js';
import { createResultAccess } from './access.js';
import { createResultStore } from './store.js';

function given(contents: Record<string, Json>) {
  const plane = controlPlane();
  for (const [ref, content] of Object.entries(contents)) plane.stored.set(ref, content);
  const store = createResultStore(plane.api, silentLog);
  const { signal } = new AbortController();
  return { plane, results: createResultAccess(store, { execution_id: '1', step: 'use' }, signal) };
}

const A = 'noetl://execution/1/result/a/1';
const B = 'noetl://execution/1/result/b/2';

it('what holds no reference is not copied, and nobody is asked', async () => {
  const { plane, results } = given({});
  const fields = { list: [1, { deep: 'x' }], ref: A };
  expect(await results.inline(fields)).toBe(fields);
  expect(count(plane, 'resolveResult')).toBe(0);
});

it('references are replaced however deep they lie, each fetched once', async () => {
  const { plane, results } = given({ [A]: { rows: [1] }, [B]: null });
  const fields = { a: { _ref: A, count: 1 }, list: [{ _ref: A }, { b: { _ref: B } }], own: 7 };
  expect(await results.inline(fields)).toEqual({
    a: { rows: [1] },
    list: [{ rows: [1] }, { b: null }],
    own: 7,
  });
  expect(count(plane, 'resolveResult')).toBe(2);
});

it('a list of tools is shown as its step shows it', async () => {
  const { results } = given({ [A]: { make: { rows: [1] }, _pipeline: ['make'] } });
  expect(await results.inline({ a: { _ref: A } })).toMatchObject({ a: { rows: [1], make: { rows: [1] } } });
});

it('a reference that leads nowhere is an error that a policy can recognise', async () => {
  const { results } = given({});
  await expect(results.inline({ a: { _ref: A } })).rejects.toMatchObject({
    info: { kind: 'missing_reference', code: 'REFERENCE_NOT_AVAILABLE' },
  });
});

it('a template is evaluated again with each result it turns out to need', async () => {
  const { results } = given({ [A]: { next: { _ref: B } }, [B]: { value: 42 } });
  const template = compileTemplate('{{ a.next.value }}');
  expect(await results.resolving(() => template.evaluate(scopeOf({ a: { _ref: A } })))).toBe(42);
});

it('what a template raises by itself is not swallowed', async () => {
  const { results } = given({});
  await expect(results.resolving(() => compileTemplate('{{ 1 / 0 }}').evaluate(scopeOf({})))).rejects.toThrow();
});
