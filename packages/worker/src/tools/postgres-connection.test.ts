import { describe, expect, it } from 'vitest';
import { connectionKey, connectionOf, tlsOf } from './postgres-connection.js';

const EXPECTED = { host: 'db', port: 5433, database: 'shop', user: 'ann', password: 'p@ss w/rd' };

describe('where a postgres step connects to', () => {
  it.each([
    ['a connection string', { connection_string: 'postgres://ann:p%40ss%20w%2Frd@db:5433/shop' }],
    ['a connection', { connection: 'postgresql://ann:p%40ss%20w%2Frd@db:5433/shop' }],
    ['fields', { ...EXPECTED, port: '5433' }],
    [
      'the spellings of credentials',
      { auth: { db_host: 'db', db_port: 5433, db_name: 'shop', db_user: 'ann', db_password: 'p@ss w/rd' } },
    ],
    ['a credential', { credential: { type: 'postgres', ...EXPECTED } }],
    [
      'a credential with a connection string',
      { auth: { connection_string: 'postgres://ann:p%40ss%20w%2Frd@db:5433/shop' } },
    ],
    ['fields over a credential', { port: 5433, auth: { ...EXPECTED, port: 1 } }],
    [
      'fields over a connection string',
      { database: 'shop', connection_string: 'postgres://ann:p%40ss%20w%2Frd@db:5433/x' },
    ],
  ])('%s', (_, config) => {
    expect(connectionOf(config)).toMatchObject(EXPECTED);
  });

  it('the usual port, the database of the user, and encryption where the server has it', () => {
    expect(connectionOf({ host: 'db', user: 'ann' })).toEqual({
      host: 'db',
      port: 5432,
      database: 'ann',
      user: 'ann',
      password: '',
      sslmode: 'prefer',
    });
  });

  it.each([
    ['nothing', {}, 'it has no connection; write connection_string'],
    ['no host', { user: 'ann' }, 'host is required'],
    ['no user', { host: 'db' }, 'user is required'],
    ['a bad port', { host: 'db', user: 'ann', port: 'x' }, 'port must be a number'],
    ['a bad sslmode', { host: 'db', user: 'ann', sslmode: 'always' }, 'sslmode must be one of disable'],
    ['a certificate by path', { host: 'db', user: 'ann', sslrootcert: '/etc/ca.pem' }, 'not a path'],
    [
      'a stored credential',
      { auth: 'pg_local' },
      "the stored credential 'pg_local', but stored credentials are not available yet",
    ],
    ['a stored credential in a mapping', { auth: { credential: 'pg_local' } }, "the stored credential 'pg_local'"],
  ])('says what is wrong: %s', (_, config, message) => {
    expect(() => connectionOf(config)).toThrow(message);
  });

  it('never repeats a connection string that it cannot read', () => {
    expect(() => connectionOf({ connection_string: 'postgres://ann:se#cret@db/shop' })).toThrow(
      /^(?!.*cret).*percent-encoded/,
    );
  });

  it('tells connections apart, and shows no password', () => {
    const one = connectionOf({ ...EXPECTED });
    expect(connectionKey(one)).toBe(connectionKey(connectionOf({ ...EXPECTED })));
    expect(connectionKey(one)).not.toBe(connectionKey({ ...one, password: 'other' }));
    expect(connectionKey(one)).not.toContain('ss w');
  });

  it.each([
    ['disable', false],
    ['require', { rejectUnauthorized: false }],
    ['verify-full', { rejectUnauthorized: true }],
  ])('sslmode %s', (sslmode, tls) => {
    expect(tlsOf(connectionOf({ ...EXPECTED, sslmode }))).toEqual(tls);
  });
});
