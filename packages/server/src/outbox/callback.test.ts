import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readCallbackUrl, sendCallback, signatureOf } from './callback.js';

const SIGNED = { secret: 's3cret', allowPrivate: false };

describe('the callback URL of a start request', () => {
  it.each([undefined, null, ''])('may be absent (%j)', (value) => {
    expect(readCallbackUrl(value, SIGNED)).toBeUndefined();
  });

  it('is taken as it is', () => {
    expect(readCallbackUrl('https://example.com/hook?x=1', SIGNED)).toBe('https://example.com/hook?x=1');
  });

  it.each([
    7,
    'no url',
    '/relative',
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://user:pw@example.com/',
    `https://example.com/${'x'.repeat(3_000)}`,
    'http://127.0.0.1/',
    'http://[::1]/',
    'http://10.1.2.3/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:127.0.0.1]/',
    'http://0x7f000001/',
  ])('is refused: %j', (value) => {
    expect(() => readCallbackUrl(value, SIGNED)).toThrow(/callback_url/);
  });

  it('may point inside when the operator allows it', () => {
    expect(readCallbackUrl('http://127.0.0.1:9/', { ...SIGNED, allowPrivate: true })).toBe('http://127.0.0.1:9/');
  });

  it('is refused by a server that cannot sign', () => {
    expect(() => readCallbackUrl('https://example.com/', { ...SIGNED, secret: undefined })).toThrow(
      /NOETL_CALLBACK_SECRET/,
    );
  });
});

describe('the signature', () => {
  it('is an HMAC over time and body that the receiver can compute', () => {
    const mac = createHmac('sha256', 's3cret').update('1700000000.{"a":1}').digest('hex');
    expect(signatureOf('{"a":1}', 's3cret', 1_700_000_000)).toBe(`t=1700000000,v1=${mac}`);
  });
});

describe('sending', () => {
  it.each(['http://127.0.0.1:1/', 'http://localhost:1/'])('never reaches inside unless allowed: %s', async (url) => {
    const callback = { url, payload: {}, deliveryId: 'd', attempt: 1 };
    await expect(sendCallback(callback, SIGNED, 0)).rejects.toThrow(/not allowed/);
  });
});
