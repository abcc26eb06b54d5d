import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from './duration.js';

describe('a duration', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['90', 90_000],
    ['0.5', 500],
  ])('%s is read', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(['', 'soon', '0', '-5', '5 weeks', '1e3', '30d'])('%j is refused with exit code 2', (text) => {
    expect(() => parseDuration(text)).toThrow(expect.objectContaining({ exitCode: 2 }));
  });

  it.each([
    [0, '0.00s'],
    [420, '0.42s'],
    [12_340, '12.3s'],
    [59_990, '1m 00s'],
    [185_000, '3m 05s'],
    [7_260_000, '2h 01m'],
    [-5, '0.00s'],
  ])('of %d ms is written as %s', (ms, expected) => {
    expect(formatDuration(ms)).toBe(expected);
  });
});
