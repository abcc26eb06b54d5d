import { describe, expect, it } from 'vitest';
import { isoFromPostgres, shardUrl } from './pools.js';
import { isTransient } from './transient.js';

describe('times from Postgres', () => {
  it.each([
    ['2026-11-16 00:30:41.123456+00', '2026-11-16T00:30:41.123456Z'],
    ['2026-11-16 00:30:41+00', '2026-11-16T00:30:41.000Z'],
    ['2026-11-16 00:30:41.1+00:00', '2026-11-16T00:30:41.100Z'],
    ['2026-11-16 00:30:41.12+00', '2026-11-16T00:30:41.120Z'],
  ])('%s is %s', (text, iso) => {
    expect(isoFromPostgres(text)).toBe(iso);
  });
});

describe('shard addresses', () => {
  it.each([
    ['host=a;user=b', 'postgres://b@a:5432/noetl'],
    ['host=a;port=6000;user=b;password=c;database=d', 'postgres://b:c@a:6000/d'],
    ['host=a;user=b;dbname=d', 'postgres://b@a:5432/d'],
    [' host = a ; user = b ', 'postgres://b@a:5432/noetl'],
    ['host=a;user=b;password=p@s/s=w', 'postgres://b:p%40s%2Fs%3Dw@a:5432/noetl'],
  ])('%s', (dsn, url) => {
    expect(shardUrl(dsn, 'X')).toBe(url);
  });

  it.each([
    ['hots=a;user=b', "X: 'hots' is not one of"],
    ['nonsense', 'X: what it says after the last known field is not one of'],
    ['host=a', 'X: every shard needs host and user'],
    ['user=b', 'X: every shard needs host and user'],
  ])('%s is refused and named', (dsn, message) => {
    expect(() => shardUrl(dsn, 'X')).toThrow(message);
  });

  it.each([
    'host=a;password=hunter2;pass=hunter2',
    'host=a;user=b;password=hun;ter2',
    'host=a;user=b;password=hun;ter2=x',
    'ter2;database=c',
  ])('never quotes a password, even one that a separator takes apart: %s', (dsn) => {
    expect(() => shardUrl(dsn, 'X')).toThrow(/^(?!.*ter2)/);
  });
});

describe('errors that pass by themselves', () => {
  const withCode = (code: string) => Object.assign(new Error('x'), { code });

  it.each(['40001', '40P01', '57P01', '08006', 'ECONNREFUSED', 'ECONNRESET'])('%s does', (code) => {
    expect(isTransient(withCode(code))).toBe(true);
  });

  it.each(['23505', '22P02', '42P01', 'ERR_SOMETHING'])('%s does not', (code) => {
    expect(isTransient(withCode(code))).toBe(false);
  });

  it('a broken connection does, a plain error and a string do not', () => {
    expect(
      [new Error('Connection terminated unexpectedly'), new Error('no'), 'Connection terminated'].map(isTransient),
    ).toEqual([true, false, false]);
  });
});
