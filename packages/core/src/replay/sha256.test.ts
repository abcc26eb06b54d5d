import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from './sha256.js';

const platform = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');

describe('sha256Hex', () => {
  it('hashes the empty text and the example of the standard', () => {
    expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('agrees with the platform on any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        expect(sha256Hex(text)).toBe(platform(text));
      }),
    );
  });

  it('agrees with the platform on every length around the end of a block', () => {
    for (let length = 0; length <= 130; length++)
      expect(sha256Hex('x'.repeat(length))).toBe(platform('x'.repeat(length)));
  });

  it.each([
    ['ASCII', 'a'],
    ['two bytes', 'é'],
    ['three bytes', '€'],
    ['four bytes', '😀'],
    ['half of a surrogate pair', '\ud800'],
  ])('agrees with the platform on texts longer than its buffer: %s', (_, character) => {
    for (const shift of ['', 'x', 'xx', 'xxx']) {
      const text = shift + character.repeat(40_000);
      expect(sha256Hex(text)).toBe(platform(text));
    }
  });
});
