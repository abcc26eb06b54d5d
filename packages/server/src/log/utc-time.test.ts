import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedPostgres } from '../../../../test/support/postgres.js';
import { isoFromPostgres } from '../db/index.js';
import { utcTime } from './utc-time.js';

describe('a time', () => {
  it.each([
    ['2026-06-17T16:48:21Z', '2026-06-17T16:48:21.000Z'],
    ['2026-06-17T16:48:21.05Z', '2026-06-17T16:48:21.050Z'],
    ['2026-06-17T16:48:21.379403', '2026-06-17T16:48:21.379403Z'],
    ['2026-06-17 16:48:21.379400Z', '2026-06-17T16:48:21.3794Z'],
    ['2026-06-17T18:48:21.379403123+02:00', '2026-06-17T16:48:21.379403Z'],
    ['2026-06-17T23:59:59.9999999Z', '2026-06-17T23:59:59.999999Z'],
    ['2026-06-17T16:48:21+00', '2026-06-17T16:48:21.000Z'],
    ['2026-06-17T16:48Z', '2026-06-17T16:48:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(utcTime(text)).toBe(expected);
  });

  it.each([
    '',
    'yesterday',
    '1',
    '2026-06-17',
    'Wed, 17 Jun 2026 16:48:21 GMT',
    '2026-02-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-06-17T25:00:00Z',
  ])('%j is none', (text) => {
    expect(utcTime(text)).toBeUndefined();
  });
});

describe('what the database gives back', () => {
  const client = new pg.Client({ connectionString: sharedPostgres().url, options: '-c timezone=UTC' });
  beforeAll(() => client.connect());
  afterAll(() => client.end());

  it('is the very text, whatever the time', async () => {
    const day = fc.date({ min: new Date('1970-01-02'), max: new Date('2090-01-01'), noInvalidDate: true });
    const zone = fc.constantFrom('Z', '', '+00:00', '+05:30', '-08:00', '+0200');
    const texts = fc.tuple(day, fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 9 }), zone);
    await fc.assert(
      fc.asyncProperty(texts, async ([date, digits, offset]) => {
        const given = `${date.toISOString().slice(0, 19)}${digits === '' ? '' : `.${digits}`}${offset}`;
        const time = utcTime(given);
        const { rows } = await client.query<{ stored: string }>('SELECT $1::timestamptz::text AS stored', [time]);
        expect(isoFromPostgres(rows[0]?.stored ?? '')).toBe(time);
        expect(Date.parse(time ?? '')).toBe(Date.parse(offset === '' ? `${given}Z` : given));
      }),
    );
  });
});
