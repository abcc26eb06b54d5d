import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY, readPolicy } from './policy.js';

describe('a cleanup policy', () => {
  it.each([undefined, null, {}])('has its defaults when nothing is given (%j)', (value) => {
    expect(readPolicy(value)).toEqual(DEFAULT_POLICY);
  });

  it('keeps the log for ever by default', () => {
    expect(DEFAULT_POLICY).toMatchObject({
      command_retention_days: 7,
      runtime_stale_minutes: 60,
      event_retention_days: 0,
      dry_run: false,
    });
  });

  it('takes what is given and ignores what it does not know', () => {
    expect(readPolicy({ event_retention_days: 90, colour: 'blue' })).toEqual({
      ...DEFAULT_POLICY,
      event_retention_days: 90,
    });
  });

  it.each([
    [],
    'x',
    { command_retention_days: '7' },
    { command_retention_days: 1.5 },
    { dry_run: 1 },
    { keychain_expired: 'yes' },
  ])('is refused: %j', (value) => {
    expect(() => readPolicy(value)).toThrow();
  });

  it('survives a number that no date can hold', () => {
    expect(readPolicy({ event_retention_days: Number.MAX_SAFE_INTEGER }).event_retention_days).toBe(1_000_000);
  });
});
