import { describe, expect, it } from 'vitest';
import { databaseFromEnv, withoutPassword } from './database.js';

describe('the database of the environment', () => {
  it('is none by default, so that one is embedded', async () => {
    expect(await databaseFromEnv({})).toBeUndefined();
  });

  it.each([{ DATABASE_URL: 'postgresql://h/d' }, { POSTGRES_HOST: 'h' }])('is the one of %o', async (env) => {
    expect(new URL((await databaseFromEnv(env)) ?? '').hostname).toBe('h');
  });

  it('is shown without its password', () => {
    expect(withoutPassword('postgresql://me:secret@h:1/d')).toBe('postgresql://me:***@h:1/d');
  });
});
