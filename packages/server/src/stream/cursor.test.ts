import { describe, expect, it } from 'vitest';
import { type Cursor, forStream, type Milestone, withMilestone } from './cursor.js';
import { type Position, parsePosition, positionOf } from './outgoing.js';

const NOW = new Date('2026-11-16T12:00:00Z');
const DAY = 86_400_000;
const at = (hoursAgo: number, position: string): Milestone => ({
  at: new Date(NOW.getTime() - hoursAgo * 3_600_000).toISOString(),
  position: position as Position,
});
const cursor = (history: Milestone[], stream: string | undefined = 'one'): Cursor => ({
  position: '9/9/9' as Position,
  floor: '1/0/0' as Position,
  eventId: '7',
  stream,
  sequence: 100,
  history,
});

describe('a position', () => {
  it('is the same after it was stored', () => {
    const place = { tx: '18446744073709551615', execution: '9223372036854775807', version: '12' };
    expect(parsePosition(positionOf(place))).toEqual(place);
  });

  it.each(['', '1/2', 'foreign:1/2/3', '1/2/3/4', '-1/0/0'])('is not %j', (text) => {
    expect(() => parsePosition(text)).toThrow('is no position');
  });
});

describe('milestones', () => {
  it('are noted when the newest is old enough', () => {
    expect(withMilestone(cursor([at(1, '5/0/0')]), DAY, NOW).history).toEqual([at(1, '5/0/0'), at(0, '9/9/9')]);
    expect(withMilestone(cursor([at(0.1, '5/0/0')]), DAY, NOW).history).toEqual([at(0.1, '5/0/0')]);
  });

  it('that the retention has outlived are forgotten, but for the newest of them', () => {
    const old = [at(80, '2/0/0'), at(40, '3/0/0'), at(25, '4/0/0'), at(2, '5/0/0')];
    expect(withMilestone(cursor(old), DAY, NOW).history).toEqual([at(25, '4/0/0'), at(2, '5/0/0'), at(0, '9/9/9')]);
  });

  it('are not needed for a stream that keeps everything', () => {
    expect(withMilestone(cursor([]), 0, NOW).history).toEqual([]);
  });
});

const one = { created: 'one', lastSequence: 100 };
const two = { created: 'two', lastSequence: 0 };

describe('a cursor that meets a stream', () => {
  it('goes on where it was when it is the same stream', () => {
    expect(forStream(cursor([]), one, DAY, NOW).position).toBe('9/9/9');
  });

  it('goes on where it was when it has not known any', () => {
    expect(forStream(cursor([], undefined), one, DAY, NOW)).toMatchObject({ position: '9/9/9', stream: 'one' });
  });

  it('goes back when the stream has forgotten messages that it had acknowledged', () => {
    const forgetful = { created: 'one', lastSequence: 99 };
    expect(forStream(cursor([]), forgetful, DAY, NOW)).toMatchObject({ position: '1/0/0', sequence: 0 });
  });

  it('goes back to what the lost stream would still hold', () => {
    const history = [at(40, '3/0/0'), at(25, '4/0/0'), at(2, '5/0/0')];
    expect(forStream(cursor(history), two, DAY, NOW)).toMatchObject({
      position: '4/0/0',
      stream: 'two',
      history: [at(25, '4/0/0')],
    });
  });

  it('goes back to where it began when the lost stream was younger than its retention, or kept everything', () => {
    expect(forStream(cursor([at(2, '5/0/0')]), two, DAY, NOW).position).toBe('1/0/0');
    expect(forStream(cursor([at(99, '5/0/0')]), two, 0, NOW).position).toBe('1/0/0');
  });
});
