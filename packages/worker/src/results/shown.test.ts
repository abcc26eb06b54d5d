import type { Json, JsonObject } from '@noetl/core';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutputSettings, Selector } from './settings.js';
import { readableFields, shownOf } from './shown.js';

const REF = 'noetl://execution/1/result/step/2';
const settings = (select: Selector[] = []): OutputSettings => ({
  inlineMaxBytes: 65_536,
  previewMaxBytes: 1_024,
  select,
  scope: 'execution',
  ttl: null,
});
const shown = (value: Json, previewMaxBytes = 1_024, bytes = 100_000) =>
  shownOf(REF, value, bytes, {}, previewMaxBytes);
const field = (as: string, ...path: string[]): Selector => ({ path, as });

describe('fields that stay readable', () => {
  it('are the single values of the first level', () => {
    const value = {
      status: 'ok',
      count: 7,
      done: true,
      none: null,
      rows: [1],
      meta: { a: 1 },
      id: 325517391836164097n,
    };
    expect(readableFields(value, settings())).toEqual({ status: 'ok', count: 7, done: true, id: 325517391836164097n });
  });

  it('are those the author selected, of any kind', () => {
    const value = { meta: { total: 7, deep: { x: 1 } }, rows: [{ id: 1 }, { id: 2 }] };
    const select = [field('total', 'meta', 'total'), field('deep', 'meta', 'deep'), field('last', 'rows', '-1', 'id')];
    expect(readableFields(value, settings(select))).toEqual({ total: 7, deep: { x: 1 }, last: 2 });
  });

  it('are found below `data` when the value is the data', () => {
    expect(readableFields({ total: 7, rows: [] }, settings([field('sum', 'data', 'total')]))).toMatchObject({ sum: 7 });
  });

  it('are left out when they are not there, or would not fit themselves', () => {
    const value = { rows: Array.from({ length: 10_000 }, (_, index) => index) };
    expect(readableFields(value, settings([field('rows', 'rows'), field('x', 'no', 'such')]))).toEqual({});
  });

  it('are few when there are thousands', () => {
    const value = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field_${index}`, index]));
    const fields = readableFields(value, settings());
    expect(Object.keys(fields).length).toBeGreaterThan(50);
    expect(JSON.stringify(fields).length).toBeLessThan(8_192);
  });

  it('hold no long text', () => {
    expect(readableFields({ text: 'x'.repeat(600), word: 'x' }, settings())).toEqual({ word: 'x' });
  });
});

describe('the reference', () => {
  it('cannot be hidden by a field of the same name', () => {
    expect(shownOf(REF, {}, 1, { _ref: 'mine', _store: 'mine' }, 100)).toMatchObject({ _ref: REF, _store: 'kv' });
  });

  it.each([
    [1024 * 1024 - 1, 'kv'],
    [1024 * 1024, 'disk'],
  ])('of %i bytes says %s', (bytes, store) => {
    expect(shown({}, 100, bytes)['_store']).toBe(store);
  });

  it('names all fields, or none', () => {
    expect(shown({ a: 1, rows: [] })['_keys']).toEqual(['a', 'rows']);
    expect(shown([1, 2])).not.toHaveProperty('_keys');
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, index]));
    expect(shown(many)).not.toHaveProperty('_keys');
    expect(shown({ ['k'.repeat(3_000)]: 1 })).not.toHaveProperty('_keys');
  });
});

describe('the preview', () => {
  it('is the value itself when it is short', () => {
    expect(shown({ a: [1, 'two', null], b: { c: true } })['_preview']).toBe('{"a":[1,"two",null],"b":{"c":true}}');
  });

  it('shows how a long value begins', () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => ({ id: index }));
    expect(shown({ rows })['_preview']).toMatch(/^\{"rows":\[\{"id":0\},\{"id":1\},/);
  });

  it('masks secrets', () => {
    const value = { user: 'ada', password: 'correct horse', rows: Array(1_000).fill('x') };
    expect(shown(value)['_preview']).toContain('ada');
    expect(shown(value)['_preview']).not.toContain('correct horse');
  });

  it('is never longer than allowed, and cuts no character in two', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 200 }), (value, max) => {
        const text = String((shown(value as Json, max) as JsonObject)['_preview']);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
        expect(text).not.toContain('\ufffd');
      }),
    );
  });
});
