import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { every, type Periodic } from './periodic.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(async () => {
  await task?.stop();
  vi.useRealTimers();
});

let task: Periodic | undefined;
const ignore = () => undefined;

describe('work that comes round', () => {
  it('runs once an interval', async () => {
    let runs = 0;
    task = every(100, async () => runs++, ignore);
    await vi.advanceTimersByTimeAsync(350);
    expect(runs).toBe(3);
  });

  it('goes on after an error, which is told', async () => {
    const errors: unknown[] = [];
    task = every(
      100,
      () => Promise.reject(new Error('x')),
      (error) => errors.push(error),
    );
    await vi.advanceTimersByTimeAsync(250);
    expect(errors).toHaveLength(2);
  });

  it('never runs twice at once; a call for it meanwhile means once more afterwards', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const slow = async () => {
      most = Math.max(most, ++running);
      runs++;
      await new Promise((done) => setTimeout(done, 50));
      running--;
    };
    task = every(1_000, slow, ignore);
    await vi.advanceTimersByTimeAsync(1_010);
    task.soon();
    task.soon();
    await vi.advanceTimersByTimeAsync(200);
    expect([runs, most]).toEqual([2, 1]);
  });

  it('runs soon when it is told to', async () => {
    let runs = 0;
    task = every(1_000_000, async () => runs++, ignore);
    task.soon();
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toBe(1);
  });

  it('is over once stopped, after the run in progress', async () => {
    let finished = 0;
    const slow = () =>
      new Promise<void>((done) =>
        setTimeout(() => {
          finished++;
          done();
        }, 50),
      );
    task = every(100, slow, ignore);
    await vi.advanceTimersByTimeAsync(110);
    const stopping = task.stop();
    await vi.advanceTimersByTimeAsync(50);
    await stopping;
    expect(finished).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(finished).toBe(1);
  });

  it('stays stopped when it is asked to run soon afterwards', async () => {
    let runs = 0;
    task = every(100, async () => runs++, ignore);
    await task.stop();
    task.soon();
    await vi.advanceTimersByTimeAsync(500);
    expect(runs).toBe(0);
  });
});
