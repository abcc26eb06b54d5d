import { type Json, parseJson, stringifyJson } from '@noetl/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freshProgress, type Progress, readSavedState, type Saved, savedState } from './progress.js';
import { noop } from './sequence.fixture.js';
import { readTasks } from './task.js';
import { emptyMemory, type Memory } from './variables.js';

const tasks = readTasks({ tasks: [{ a: noop(1) }, { b: noop(2) }, { c: noop(3) }] });
const STARTED = new Date('2026-01-02T03:04:05.678Z');

/** What Postgres makes of it: the same values, keys in another order. */
function stored(state: Json): Json {
  const shuffle = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(shuffle);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, item]) => [key, shuffle(item)]),
    );
  };
  return shuffle(parseJson(stringifyJson(state)));
}

const key = fc.oneof(fc.constantFrom('a', 'b', 'c', '2', '1', '__proto__', 'ctx.x', 'toString'), fc.string());
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => parseJson(JSON.stringify(value)));
const map = fc.array(fc.tuple(key, json), { maxLength: 6 }).map((entries) => new Map(entries));
const count = fc.nat({ max: 1_000_000 });

const memory: fc.Arbitrary<Memory> = fc
  .record({
    labelled: map,
    own: map,
    ctx: map,
    iter: map,
    step: map,
    updates: map,
    previous: fc.option(json, { nil: undefined }),
  })
  .map(({ labelled, own, ctx, iter, step, updates, previous }) => ({
    labelled,
    named: new Map([...labelled, ...own]),
    written: { ctx, iter, step },
    updates,
    previous,
  }));

const progress: fc.Arbitrary<Progress> = fc.record({
  index: fc.nat({ max: 2 }),
  executions: count,
  tallies: fc.array(fc.record({ executions: count, rounds: count }), { minLength: 3, maxLength: 3 }),
  inside: fc.option(fc.record({ startedAt: fc.constant(STARTED), state: json }), { nil: undefined }),
});

describe('the saved state of a list', () => {
  it('is read as it was written, whatever happened to the order of its keys', () => {
    fc.assert(
      fc.property(memory, progress, (knows, stands) => {
        const saved: Saved = { startedAt: STARTED, progress: stands, memory: knows };
        const read = readSavedState(stored(savedState(saved)), tasks);
        expect(read?.progress).toEqual(stands);
        expect(read?.startedAt).toEqual(STARTED);
        expect(read?.memory).toEqual(knows);
        expect([...(read?.memory.labelled.keys() ?? [])]).toEqual([...knows.labelled.keys()]);
        expect([...(read?.memory.updates.keys() ?? [])]).toEqual([...knows.updates.keys()]);
      }),
    );
  });

  it('holds the data of a task once', () => {
    const data = { marker: 'x'.repeat(100) };
    const knows = emptyMemory();
    knows.labelled.set('a', data);
    knows.named.set('a', data);
    knows.previous = data;
    const text = stringifyJson(savedState({ startedAt: STARTED, progress: freshProgress(tasks), memory: knows }));
    expect(text.split('xxx'.repeat(33))).toHaveLength(2);
  });

  const good = savedState({ startedAt: STARTED, progress: freshProgress(tasks), memory: emptyMemory() });

  it.each<[string, Json]>([
    ['nothing', null],
    ['text', 'go on'],
    ['another version', { ...good, version: 2 }],
    ['no version', Object.fromEntries(Object.entries(good).filter(([name]) => name !== 'version'))],
    ['a task that the list does not have', { ...good, index: 3 }],
    ['tallies of another list', { ...good, tallies: [] }],
    ['a tally that is none', { ...good, tallies: [1, 2, 3] }],
    ['an order that names something else', { ...good, finished: ['a'] }],
    ['no time', { ...good, started_at: 'yesterday' }],
    ['half of a suspended task', { ...good, inside: { state: 1 } }],
    ['no scopes', { ...good, scopes: {} }],
  ])('is not read when it is %s', (_what, state) => {
    expect(readSavedState(state, tasks)).toBeUndefined();
  });

  it('of a fresh list is a fresh list', () => {
    expect(readSavedState(good, tasks)).toEqual({
      startedAt: STARTED,
      progress: freshProgress(tasks),
      memory: emptyMemory(),
    });
  });
});
