import { expect, it } from 'vitest';
import { TooSlow, within } from './within.js';

const never = new Promise<never>(() => undefined);

it('gives what came in time', async () => {
  await expect(within(60_000, Promise.resolve(7))).resolves.toBe(7);
});

it('passes an error on', async () => {
  await expect(within(60_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
});

it('does not wait for ever', async () => {
  await expect(within(1, never)).rejects.toBeInstanceOf(TooSlow);
});
