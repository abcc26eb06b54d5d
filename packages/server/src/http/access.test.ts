import { describe, expect, it } from 'vitest';
import { isLoopbackName, sameSecret } from './access.js';

describe('loopback names', () => {
  it.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'])('%s is one', (name) => {
    expect(isLoopbackName(name)).toBe(true);
  });

  it.each([
    '',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil-localhost',
    '128.0.0.1',
  ])('%j is not', (name) => {
    expect(isLoopbackName(name)).toBe(false);
  });
});

describe('secrets', () => {
  it('are the same when every character is, whatever their lengths', () => {
    expect([
      sameSecret('abc', 'abc'),
      sameSecret('abc', 'abd'),
      sameSecret('abc', 'abcd'),
      sameSecret('', 'a'),
    ]).toEqual([true, false, false, false]);
  });
});
