import { describe, expect, it } from 'vitest';
import { backoffMs, persist } from './backoff.js';

const failure = { message: 'away' };

describe('the wait between attempts', () => {
  it('doubles from 100 ms to 5 s', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 50].map((failures) => backoffMs(failures, failure, () => 1));
    expect(longest).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  it('is at least half of that', () => {
    expect(backoffMs(3, failure, () => 0)).toBe(200);
  });

  it('is never shorter than the server asks', () => {
    expect(backoffMs(1, { message: 'busy', retryAfterMs: 7000 }, () => 1)).toBe(7000);
  });
});

describe('persisting', () => {
  it('goes on until it succeeds', async () => {
    let attempts = 0;
    const result = await persist(
      async () => {
        attempts += 1;
        if (attempts < 3) throw new Error('away');
        return 'done';
      },
      new AbortController().signal,
      () => undefined,
    );
    expect([result, attempts]).toEqual(['done', 3]);
  });

  it('ends with a failure that is final', async () => {
    const attempt = async (): Promise<void> => {
      throw Object.assign(new Error('gone'), { status: 404 });
    };
    const ended = persist(
      attempt,
      new AbortController().signal,
      () => undefined,
      ({ status }) => status === 404,
    );
    await expect(ended).rejects.toThrow('gone');
  });

  it('ends when it is told to', async () => {
    const controller = new AbortController();
    const attempt = async (): Promise<void> => {
      throw new Error('away');
    };
    const ended = persist(attempt, controller.signal, () => controller.abort(new Error('enough')));
    await expect(ended).rejects.toThrow('enough');
  });
});
