import { describe, expect, it } from 'vitest';
import { humanDuration } from './views.js';

describe('a duration for people', () => {
  it.each([
    [0, '0s'],
    [0.4, '0s'],
    [0.5, '1s'],
    [59.6, '1m'],
    [62, '1m 2s'],
    [3_600, '1h'],
    [90_061, '1d 1h 1m 1s'],
    [86_400 * 400 + 1, '400d 1s'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(humanDuration(seconds)).toBe(text);
  });
});
