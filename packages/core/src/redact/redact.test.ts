import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../json/index.js';
import type { Json } from '../json/types.js';
import { MASK, redact, redactHeaders } from './index.js';

const JWT =
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
const RANDOM = 'Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A=';
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----';

describe('keys', () => {
  it.each([
    'password',
    'DB_PASSWORD',
    'userPassword',
    'mypassword2',
    'passwd',
    'client-secret',
    'clientSecret',
    'api_key',
    'apiKey',
    'X-API-Key',
    'accesstoken',
    'refresh_token',
    'Authorization',
    'private_key_passphrase',
    'connectionString',
    'credentials',
    'sshKey',
    'tls_certificate',
    'auth',
    'basicAuth',
    'token',
    'id_token',
    'idtoken',
    'next.token',
    'token2',
    'client_pem',
    'cert',
    'PWD',
    'password_digest',
  ])('masks the text under %s', (key) => {
    expect(redact({ [key]: 'hunter2' })).toEqual({ [key]: MASK });
  });

  it.each([
    'author',
    'authored_by',
    'tokens_used',
    'certainty',
    'concert',
    'tokenizer',
    'valid_tokens',
    'opwdx',
    'key',
    'ref',
  ])('shows the text under %s', (key) => {
    expect(redact({ [key]: 'hunter2' })).toEqual({ [key]: 'hunter2' });
  });

  it('shows a number under a short term and masks it under a long one', () => {
    const big = 320816801799737344n;
    expect(redact({ token_count: 12, token: big, password: 1234, secret_id: big })).toEqual({
      token_count: 12,
      token: big,
      password: MASK,
      secret_id: MASK,
    });
  });

  it('shows booleans, null and the empty text', () => {
    const value = { password: null, has_password: true, secret: '', token: false };
    expect(redact(value)).toBe(value);
  });

  it('masks every text inside a secret object or list and keeps the shape', () => {
    expect(redact({ credentials: { user: 'u', list: ['a', 1, null], on: true }, auth: ['x'] })).toEqual({
      credentials: { user: MASK, list: [MASK, MASK, null], on: true },
      auth: [MASK],
    });
  });
});

describe('templates', () => {
  it.each(['{{ keychain.x.token }}', 'Bearer {{ keychain.x.token }}', '{{a}}{{b}}'])(
    'stay readable: %s',
    (template) => {
      const value = { token: template, header: template };
      expect(redact(value)).toBe(value);
    },
  );

  it('do not hide a literal beside them', () => {
    expect(redact({ password: 'hunter2{{ x }}' })).toEqual({ password: MASK });
  });
});

describe('values', () => {
  it.each([
    ['a bearer header', `Bearer abc`],
    ['a basic header in any case', 'bAsIc dXNlcjpwYXNz'],
    ['a JWT', JWT],
    ['a PEM private key', `here: ${PEM}`],
    ['long mixed base64', RANDOM],
  ])('%s is masked under any key', (_, text) => {
    expect(redact({ note: [text] })).toEqual({ note: [MASK] });
    expect(redact(text)).toBe(MASK);
  });

  it.each([
    ['a sha-256 in hexadecimal', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['upper-case hexadecimal', 'E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934C'],
    ['long digits', '1'.repeat(60)],
    ['a long word of one case', 'a'.repeat(60)],
    ['mixed base64 of 39 characters', RANDOM.slice(0, 39)],
    ['a public key', '-----BEGIN PUBLIC KEY-----\nMIIB'],
    ['a sentence about basics', 'The basic plan'],
    ['a URL without password', 'https://user@host:8080/a?b=c@d'],
    ['a snowflake', '320816801799737344'],
  ])('%s is shown', (_, text) => {
    expect(redact({ note: text })).toEqual({ note: text });
  });

  it.each(['sha256', 'digest', 'checksum', 'ref', 'uri', 'content_sha256', 'resultRef'])(
    'random-looking text under %s is shown',
    (key) => {
      expect(redact({ [key]: RANDOM })).toEqual({ [key]: RANDOM });
    },
  );

  it.each([
    ['postgres://u:pw@h:5432/db', `postgres://u:${MASK}@h:5432/db`],
    ['redis://:pw@h', `redis://:${MASK}@h`],
    ['nats://u:p@ss@h', `nats://u:${MASK}@h`],
    ['cannot reach amqp://a:b@c/ or http://d:e@f/', `cannot reach amqp://a:${MASK}@c/ or http://d:${MASK}@f/`],
    ['postgres://u:{{pw}}@h', 'postgres://u:{{pw}}@h'],
  ])('only the password of %s is masked', (url, shown) => {
    expect(redact({ uri: url, note: url })).toEqual({ uri: shown, note: shown });
  });

  it('a token quoted in a message is masked and the message stays', () => {
    expect(redact(`request failed: Authorization: Bearer abcdefghijklmnop123, cookie ${JWT}; retry`)).toBe(
      `request failed: Authorization: Bearer ${MASK}, cookie ${MASK}; retry`,
    );
  });
});

describe('structure', () => {
  it('is the same object when nothing was masked', () => {
    const value = { rows: [{ a: 1, b: 'x' }], n: null };
    expect(redact(value)).toBe(value);
  });

  it('shares what did not change', () => {
    const value = { rows: [{ a: 1 }, { password: 'x' }], other: { a: 1 } };
    const shown = redact(value) as typeof value;
    expect(shown.other).toBe(value.other);
    expect(shown.rows[0]).toBe(value.rows[0]);
    expect(shown.rows[1]).toEqual({ password: MASK });
  });

  it('treats __proto__ as a key', () => {
    const value = parseJson('{"__proto__":{"password":"x"},"a":1}');
    const shown = redact(value);
    expect(JSON.stringify(shown)).toBe(`{"__proto__":{"password":"${MASK}"},"a":1}`);
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype);
  });

  it('masks what is nested too deeply to look at', () => {
    let value: Json = { password: 'x' };
    for (let i = 0; i < 100_000; i++) value = [value];
    let shown = redact(value);
    while (Array.isArray(shown)) shown = shown[0] ?? null;
    expect(shown).toBe(MASK);
  });

  it('takes time in proportion to the text, however it is made', () => {
    // Each of these makes a careless pattern quadratic: a million characters would then take minutes, not milliseconds.
    for (const piece of ['eyJ-', 'eyJaaaaaaaaaaaa.', '://a:', 'bearer ', '{{ ', '-----BEGIN ', 'aB1', 'a@']) {
      const text = piece.repeat(1_000_000 / piece.length);
      expect(typeof redact({ text, token_note: text })).toBe('object');
    }
  });
});

describe('properties', () => {
  const key = fc.oneof(fc.constantFrom('password', 'token', 'auth', 'sha256', 'a', 'n', '__proto__'), fc.string());
  const piece = fc.constantFrom(
    'Bearer ',
    'basic ',
    JWT,
    PEM,
    RANDOM,
    'http://u:p@h',
    '://',
    ':',
    '@',
    '{{ x }}',
    '{',
    MASK,
    ' ',
  );
  const text = fc.array(fc.oneof(piece, fc.string({ maxLength: 5 })), { maxLength: 6 }).map((parts) => parts.join(''));
  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.constantFrom<Json>(null, true, 12, 1.5, 2n ** 60n),
      fc.array(tie('json'), { maxLength: 4 }),
      fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));

  it('redacting twice is redacting once, and gives the same object back', () => {
    fc.assert(
      fc.property(json, (value) => {
        const once = redact(value);
        expect(redact(once)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never changes its input', () => {
    fc.assert(
      fc.property(json, (value) => {
        const before = structuredClone(value);
        redact(value);
        expect(value).toEqual(before);
      }),
    );
  });
});

describe('redactHeaders', () => {
  it('masks secret headers in any case and keeps the others', () => {
    expect(
      redactHeaders({
        Authorization: 'Bearer abc',
        Cookie: 'a=b',
        'Set-Cookie': ['a=b', 'c=d'],
        'x-api-key': 'k',
        'X-Access-Token': 't',
        'proxy-authorization': 'Basic x',
        accept: 'application/json',
        vary: ['a', 'b'],
        forwarded: undefined,
        referer: 'http://u:p@h/',
      }),
    ).toEqual({
      Authorization: MASK,
      Cookie: MASK,
      'Set-Cookie': MASK,
      'x-api-key': MASK,
      'X-Access-Token': MASK,
      'proxy-authorization': MASK,
      accept: 'application/json',
      vary: ['a', 'b'],
      forwarded: undefined,
      referer: `http://u:${MASK}@h/`,
    });
  });
});
