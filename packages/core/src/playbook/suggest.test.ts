import { describe, expect, it } from 'vitest';
import { closest, editDistance } from './suggest.js';

describe('closest', () => {
  it.each([
    ['htpp', 'http'],
    ['Python', 'python'],
    ['postgress', 'postgres'],
  ])('%s is meant to be %s', (word, meant) => {
    expect(closest(word, ['http', 'python', 'postgres'])).toBe(meant);
  });

  it.each(['kafka', '', 'x'.repeat(1_000)])('finds nothing close to %j', (word) => {
    expect(closest(word, ['http', 'python', 'postgres'])).toBeUndefined();
  });
});

describe('editDistance', () => {
  it.each([
    ['abc', 'abc', 0],
    ['abc', 'acb', 1],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
  ])('from %j to %j is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });
});
