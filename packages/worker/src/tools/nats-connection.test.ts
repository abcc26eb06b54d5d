import { describe, expect, it } from 'vitest';
import { natsKey, natsSettingsOf } from './nats-connection.js';

describe('where a nats step connects to', () => {
  it.each([
    ['an address', { url: 'nats://ann:p%40ss@mq:4223' }],
    ['a credential', { auth: { type: 'nats', nats_url: 'nats://mq:4223', nats_user: 'ann', nats_password: 'p@ss' } }],
    ['fields over a credential', { user: 'ann', auth: { url: 'mq:4223', username: 'bob', password: 'p@ss' } }],
    ['fields over the address', { url: 'nats://bob:x@mq:4223', user: 'ann', password: 'p@ss' }],
  ])('%s', (_, config) => {
    expect(natsSettingsOf(config)).toEqual({ servers: ['mq:4223'], tls: false, user: 'ann', pass: 'p@ss' });
  });

  it('a token, several servers, encryption', () => {
    expect(natsSettingsOf({ url: 'tls://a:1, tls://b:2', token: 's3cret' })).toEqual({
      servers: ['a:1', 'b:2'],
      tls: true,
      token: 's3cret',
    });
  });

  it('a name alone in the address is a token', () => {
    expect(natsSettingsOf({ url: 'nats://s3cret@mq:4222' })).toMatchObject({ token: 's3cret' });
  });

  it.each([
    ['nothing', {}, 'it has no address; write url'],
    ['another scheme', { url: 'http://mq' }, 'not of the form nats://'],
    ['a list', { url: ['mq'] }, 'url must be a single value'],
    [
      'a stored credential',
      { auth: 'nats_local' },
      "the stored credential 'nats_local', but stored credentials are not",
    ],
    ['a stored credential in a mapping', { auth: { credential: 'nats_local' } }, "the stored credential 'nats_local'"],
  ])('says what is wrong: %s', (_, config, message) => {
    expect(() => natsSettingsOf(config)).toThrow(message);
  });

  it('never repeats an address that it cannot read', () => {
    expect(() => natsSettingsOf({ url: 'nats://ann:se%cret@mq' })).toThrow(/^(?!.*cret).*percent-encoded/);
  });

  it('tells connections apart, and shows no password', () => {
    const one = natsSettingsOf({ url: 'nats://ann:p%40ss@mq' });
    expect(natsKey(one)).toBe(natsKey(natsSettingsOf({ url: 'mq', user: 'ann', password: 'p@ss' })));
    expect(natsKey(one)).not.toBe(natsKey({ ...one, pass: 'other' }));
    expect(natsKey(one)).not.toContain('p@ss');
  });
});
