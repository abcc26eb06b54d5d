// Which keys promise a secret. Long terms are unmistakable and count anywhere in a key (`db_password`, `myApiKey2`);
// short ones are parts of harmless words too (`author`, `certainty`, `tokens_used`), so they count as whole segments only.

/**
 * - `secret`: whatever stands under the key is masked.
 * - `secret-text`: masked, except numbers (`token_count: 12` is a measurement, not a token).
 * - `checksum`: random-looking text is expected here and is no reason to mask it.
 */
export type KeyKind = 'secret' | 'secret-text' | 'checksum' | 'plain';

const LONG_TERMS = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'bearer',
  'apikey',
  'accesstoken',
  'refreshtoken',
  'authtoken',
  'authorization',
  'credential',
  'privatekey',
  'connectionstring',
  'gcpkey',
  'azurekey',
  'sshkey',
  'certificate',
  'encryptionkey',
  'decryptkey',
  'masterkey',
];
const LONG_TERM = new RegExp(LONG_TERMS.join('|'));

// `idtoken` stands here and not above: written as one word it is a token, inside `valid_tokens` it is an accident.
const SHORT_TERMS: ReadonlySet<string> = new Set(['auth', 'cert', 'pem', 'token', 'pwd', 'idtoken', 'oauthtoken']);

const CHECKSUM_TERMS: ReadonlySet<string> = new Set(['sha256', 'digest', 'checksum', 'ref', 'uri']);

const HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'www-authenticate',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-auth-token',
  'x-access-token',
]);

// Documents repeat their keys row after row. Bounded, because keys can be data (`{"<order id>": …}`).
const MAX_REMEMBERED = 4_096;
const MAX_REMEMBERED_LENGTH = 64;
const remembered = new Map<string, KeyKind>();

export function kindOfKey(key: string): KeyKind {
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const kind = classify(key);
  if (key.length <= MAX_REMEMBERED_LENGTH) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(key, kind);
  }
  return kind;
}

export function isSecretHeader(name: string): boolean {
  const kind = kindOfKey(name);
  return HEADERS.has(name.toLowerCase()) || kind === 'secret' || kind === 'secret-text';
}

function classify(key: string): KeyKind {
  const segments = segmentsOf(key);
  if (LONG_TERM.test(segments.join(''))) return 'secret';
  if (segments.some((segment) => SHORT_TERMS.has(segment.replace(/\d{1,9}$/, '')))) return 'secret-text';
  return CHECKSUM_TERMS.has(segments.at(-1) ?? '') ? 'checksum' : 'plain';
}

/** `dbPassword`, `DB-password` and `db.password` are all `db`, `password`. */
function segmentsOf(key: string): string[] {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((segment) => segment !== '');
}
