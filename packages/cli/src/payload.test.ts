import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildPayload, parsePair } from './payload.js';

describe('--payload key=value', () => {
  it.each([
    ['n=5', ['n', 5]],
    ['flag=true', ['flag', true]],
    ['list=["a",1]', ['list', ['a', 1]]],
    ['name=Ada Lovelace', ['name', 'Ada Lovelace']],
    ['quoted="007"', ['quoted', '007']],
    ['url=http://x/?a=b', ['url', 'http://x/?a=b']],
    ['empty=', ['empty', '']],
    ['nothing=null', ['nothing', null]],
  ])('reads %s', (pair, expected) => {
    expect(parsePair(pair)).toEqual(expected);
  });

  it('keeps every digit of a large id', () => {
    expect(parsePair('id=312047190466560001')).toEqual(['id', 312047190466560001n]);
  });

  it.each(['novalue', '=x', ' =x'])('refuses %j and says what to write', (pair) => {
    expect(() => parsePair(pair)).toThrow(/has no key/);
  });

  it('lets the last of equal keys win', () => {
    expect(buildPayload(['a=1', 'a=2'])).toEqual({ a: 2 });
  });

  it('treats __proto__ as a key like any other', () => {
    const payload = buildPayload(['__proto__={"admin":true}']);
    expect(Object.keys(payload)).toEqual(['__proto__']);
    expect('admin' in payload).toBe(false);
  });
});

describe('--payload-file', () => {
  let folder: string;
  const file = (content: string) => {
    const path = join(folder, 'payload.json');
    writeFileSync(path, content);
    return path;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'noetl-payload-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('gives inputs that --payload overrides', () => {
    expect(buildPayload(['b=3'], file('{"a":1,"b":2}'))).toEqual({ a: 1, b: 3 });
  });

  it.each(['[1]', '"text"', 'null'])('refuses %s: inputs have names', (content) => {
    expect(() => buildPayload([], file(content))).toThrow(/not a JSON object/);
  });

  it('names the file when it is not JSON or not there', () => {
    expect(() => buildPayload([], file('{'))).toThrow(/payload\.json/);
    expect(() => buildPayload([], join(folder, 'absent'))).toThrow(/absent/);
  });
});
