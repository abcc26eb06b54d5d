import { expect, it } from 'vitest';
import { parseMoment } from './moment.js';

it.each([
  ['end', { type: 'end' }],
  ['#12', { type: 'version', version: 12 }],
  ['380580603717746688', { type: 'event', eventId: '380580603717746688' }],
  ['2026-11-16T04:00:00Z', { type: 'time', time: '2026-11-16T04:00:00Z' }],
  ['2026-11-16 04:00:00.123456+0200', { type: 'time', time: '2026-11-16T04:00:00.123456+02:00' }],
])('%s is a moment', (text, moment) => {
  expect(parseMoment(text)).toEqual(moment);
});

it.each(['', '#', '#x', '-1', '1.5', '2026-11-16', '2026-11-16T04:00:00', '2026-13-45T04:00:00Z', 'yesterday'])(
  '%j is none',
  (text) => {
    expect(parseMoment(text)).toBeUndefined();
  },
);
