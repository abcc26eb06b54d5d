import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClockError, compareIds, createSnowflake, EPOCH_MS, idTimestampMs, idToBigInt, MAX_AHEAD_MS } from './index.js';

const START = Date.UTC(2026, 10, 16);

/** A generator whose clock the test moves by hand. */
function withClock(machineId = 1, at = START) {
  const clock = { at };
  const snowflake = createSnowflake({ machineId, now: () => clock.at });
  return { clock, next: () => snowflake.next() };
}

function sequenceOf(id: ReturnType<ReturnType<typeof withClock>['next']>): number {
  return Number(idToBigInt(id) & 0xfffn);
}

describe('layout', () => {
  it('is milliseconds since the epoch, machine, sequence', () => {
    const { next } = withClock(601);
    const base = (BigInt(START - EPOCH_MS) << 22n) | (601n << 12n);
    expect(next()).toBe(base.toString());
    expect(next()).toBe((base + 1n).toString());
  });

  it('holds for every millisecond, machine and sequence', () => {
    const offsets = fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: 2 ** 41 - 1 }));
    fc.assert(
      fc.property(
        offsets,
        fc.integer({ min: 0, max: 1023 }),
        fc.integer({ min: 1, max: 4096 }),
        (ms, machineId, count) => {
          const { next } = withClock(machineId, EPOCH_MS + ms);
          const base = (BigInt(ms) << 22n) | (BigInt(machineId) << 12n);
          for (let i = 0; i < count; i++) {
            if (next() !== (base + BigInt(i)).toString()) throw new Error(`wrong id at ${ms}/${machineId}/${i}`);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([-1, 1024, 1.5, Number.NaN])('refuses machine id %s at construction', (machineId) => {
    expect(() => createSnowflake({ machineId, now: () => START })).toThrow(RangeError);
  });
});

describe('clock', () => {
  it('restarts the sequence in a new millisecond', () => {
    const { clock, next } = withClock();
    next();
    next();
    clock.at += 1;
    const id = next();
    expect(idTimestampMs(id)).toBe(START + 1);
    expect(sequenceOf(id)).toBe(0);
  });

  it('keeps the last millisecond when the clock moves back', () => {
    const { clock, next } = withClock();
    next();
    clock.at -= 60_000;
    const id = next();
    expect(idTimestampMs(id)).toBe(START);
    expect(sequenceOf(id)).toBe(1);
  });

  it('borrows the next millisecond when the sequence is used up', () => {
    const { next } = withClock();
    for (let i = 0; i < 4096; i++) next();
    const id = next();
    expect(idTimestampMs(id)).toBe(START + 1);
    expect(sequenceOf(id)).toBe(0);
  });

  it('gives up when it is more than five seconds ahead of the clock, and recovers with it', () => {
    const { clock, next } = withClock();
    let last = next();
    for (let i = 1; i < 4096 * (MAX_AHEAD_MS + 1); i++) last = next();
    expect(idTimestampMs(last)).toBe(START + MAX_AHEAD_MS);
    expect(next).toThrow(ClockError);

    clock.at += 1;
    expect(compareIds(next(), last)).toBe(1);
  });

  it('measures how far ahead it is from the highest clock ever seen', () => {
    const { clock, next } = withClock();
    next();
    clock.at -= 3_600_000;
    for (let i = 0; i < 10_000; i++) next();
    expect(idTimestampMs(next())).toBe(START + 2);
  });

  it('refuses a clock before the epoch', () => {
    const { next } = withClock(1, EPOCH_MS - 1);
    expect(next).toThrow(new ClockError('system clock is before the NoETL epoch (2024-01-01)'));
  });

  it('refuses a clock that is not a number', () => {
    expect(withClock(1, Number.NaN).next).toThrow(ClockError);
  });

  it('refuses a clock past the last id', () => {
    expect(withClock(1, EPOCH_MS + 2 ** 41).next).toThrow(ClockError);
  });
});

it('never repeats or goes back, whatever the clock does', () => {
  const step = fc.record({ move: fc.integer({ min: -3_000, max: 3_000 }), ids: fc.integer({ min: 0, max: 6_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const { clock, next } = withClock();
      let last = next();
      for (const { move, ids } of steps) {
        clock.at += move;
        for (let i = 0; i < ids; i++) {
          const id = next();
          if (compareIds(id, last) !== 1) throw new Error(`${id} came after ${last}`);
          last = id;
        }
      }
    }),
    { numRuns: 40 },
  );
});
