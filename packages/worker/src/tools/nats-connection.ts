// Where a nats step connects to. Reads the spellings that playbooks and credentials use; what the step writes itself wins over its
// credential, and both win over what stands in the address. Pure. A password leaves this file only inside the settings.
import { createHash } from 'node:crypto';
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { firstOf, textOf } from './config.js';
import { configurationError } from './errors.js';

export interface NatsSettings {
  /** `host:port`, one or more of the same cluster. */
  readonly servers: readonly string[];
  readonly tls: boolean;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

const KIND = 'nats';
const FIELDS = {
  url: ['url', 'nats_url'],
  user: ['user', 'username', 'nats_user', 'nats_username'],
  pass: ['password', 'nats_password'],
  token: ['token', 'nats_token'],
} as const;
type Field = keyof typeof FIELDS;
type Fields = Partial<Record<Field, string>>;

const HOW_TO_CONNECT = 'url (nats://host:4222), or auth as a mapping with url, and user and password or token';

export function natsSettingsOf(config: JsonObject): NatsSettings {
  const found: Fields = { ...credentialFields(firstOf(config, 'auth', 'credential')), ...fieldsOf(config) };
  if (found.url === undefined || found.url === '')
    throw configurationError(KIND, `it has no address; write ${HOW_TO_CONNECT}`);
  const urls = found.url
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(urlOf);
  return {
    servers: urls.map(({ host }) => host),
    tls: urls.some(({ protocol }) => protocol === 'tls:'),
    ...loginOf({ ...urlLogin(urls), ...found }),
  };
}

/** Tells connections apart without holding their passwords. */
export function natsKey({ servers, tls, user, pass, token }: NatsSettings): string {
  const parts = [servers, tls, user ?? null, pass ?? null, token ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

function credentialFields(auth: Json | undefined): Fields {
  if (auth === undefined) return {};
  const name = isObject(auth) ? firstOf(auth, 'credential', 'name') : auth;
  if (typeof name === 'string') {
    throw configurationError(
      KIND,
      `auth names the stored credential '${name}', but stored credentials are not available yet; write ${HOW_TO_CONNECT}`,
    );
  }
  if (!isObject(auth)) throw configurationError(KIND, 'auth must be a mapping with url, user and password or token');
  return fieldsOf(auth);
}

function fieldsOf(source: JsonObject): Fields {
  const fields: Fields = {};
  for (const field of Object.keys(FIELDS) as Field[]) {
    const value = firstOf(source, ...FIELDS[field]);
    if (value === undefined) continue;
    if (typeof value === 'object') throw configurationError(KIND, `${field} must be a single value`);
    fields[field] = textOf(value, String);
  }
  return fields;
}

/** An address that cannot be read is never repeated: a password may be in it. */
function urlOf(text: string): URL {
  const full = text.includes('://') ? text : `nats://${text}`;
  const unreadable = () =>
    configurationError(
      KIND,
      'url is not of the form nats://host:4222 or tls://host:4222 (are special characters percent-encoded?)',
    );
  if (!/^(nats|tls):\/\//.test(full) || !URL.canParse(full)) throw unreadable();
  const url = new URL(full);
  if (url.hostname === '') throw unreadable();
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw unreadable();
  }
  return url;
}

function urlLogin(urls: readonly URL[]): Fields {
  const url = urls.find(({ username }) => username !== '');
  if (url === undefined) return {};
  const user = decodeURIComponent(url.username);
  return url.password === '' ? { token: user } : { user, pass: decodeURIComponent(url.password) };
}

function loginOf({ user, pass, token }: Fields): Pick<NatsSettings, 'user' | 'pass' | 'token'> {
  if (user !== undefined && user !== '') return { user, pass: pass ?? '' };
  return token === undefined || token === '' ? {} : { token };
}
