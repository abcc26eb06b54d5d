import { type ExecutionState, type Id, initialState } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { createStateCache } from './cache.js';

const state = (id: string): ExecutionState => initialState(id as Id);
const id = (text: string) => text as Id;

describe('state cache', () => {
  it('gives back what was put, until it is dropped', () => {
    const cache = createStateCache({ states: 10, events: 100 });
    const one = state('1');
    cache.put(one, 3);
    expect(cache.get(id('1'))).toBe(one);
    cache.drop(id('1'));
    expect(cache.get(id('1'))).toBeUndefined();
  });

  it('lets the least recently written state go when there are too many', () => {
    const cache = createStateCache({ states: 2, events: 100 });
    for (const name of ['1', '2', '1', '3']) cache.put(state(name), 1);
    expect(['1', '2', '3'].map((name) => cache.get(id(name)) !== undefined)).toEqual([true, false, true]);
  });

  it('lets states go when they are too heavy together', () => {
    const cache = createStateCache({ states: 10, events: 100 });
    cache.put(state('1'), 60);
    cache.put(state('2'), 60);
    expect([cache.size, cache.get(id('2')) !== undefined]).toEqual([1, true]);
  });

  it('keeps the state that was just put, however heavy', () => {
    const cache = createStateCache({ states: 10, events: 100 });
    cache.put(state('1'), 1_000);
    expect(cache.size).toBe(1);
  });

  it('adds up the weight of a state that grows, and forgets it with the state', () => {
    const cache = createStateCache({ states: 10, events: 100 });
    cache.put(state('1'), 60);
    cache.put(state('1'), 60);
    cache.drop(id('1'));
    cache.put(state('2'), 90);
    cache.put(state('3'), 10);
    expect(cache.size).toBe(2);
  });
});
