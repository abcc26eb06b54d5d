// Where a postgres step connects to. Reads the spellings that playbooks and credentials use; what the step writes itself wins over its
// connection string, and that wins over its credential. Pure. A password leaves this file only inside the settings.
import { createHash } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { firstOf, textOf } from './config.js';
import { configurationError } from './errors.js';

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

export interface PostgresSettings {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly sslmode: SslMode;
  /** Certificates to trust, as PEM text. */
  readonly ca?: string;
}

const KIND = 'postgres';
const FIELDS = {
  host: ['host', 'db_host', 'hostname'],
  port: ['port', 'db_port'],
  database: ['database', 'db_name', 'dbname', 'db_database'],
  user: ['user', 'db_user', 'username'],
  password: ['password', 'db_password'],
  sslmode: ['sslmode', 'ssl_mode', 'db_sslmode'],
  ca: ['sslrootcert', 'ssl_root_cert'],
} as const;
type Field = keyof typeof FIELDS;
type Fields = Partial<Record<Field, string>>;

const HOW_TO_CONNECT =
  'connection_string (postgres://user:password@host:5432/database), or host, port, database, user and password, or auth as a mapping with these fields';

export function connectionOf(config: JsonObject): PostgresSettings {
  const found: Fields = {
    ...credentialFields(firstOf(config, 'auth', 'credential')),
    ...connectionFields(firstOf(config, 'connection_string', 'connection')),
    ...fieldsOf(config),
  };
  const { host, user } = found;
  if (Object.keys(found).length === 0) throw configurationError(KIND, `it has no connection; write ${HOW_TO_CONNECT}`);
  if (host === undefined || host === '') throw configurationError(KIND, 'host is required');
  if (user === undefined || user === '') throw configurationError(KIND, 'user is required');
  return {
    host,
    port: portOf(found.port),
    database: found.database || user,
    user,
    password: found.password ?? '',
    sslmode: sslModeOf(found.sslmode),
    ...(found.ca === undefined ? {} : { ca: certificateOf(found.ca) }),
  };
}

/** Tells connections apart without holding their passwords. */
export function connectionKey(settings: PostgresSettings): string {
  const { host, port, database, user, password, sslmode, ca } = settings;
  const parts = [host, port, database, user, password, sslmode, ca ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

/** The meaning of each mode is libpq's: only the two that verify look at the server's certificate. */
export function tlsOf({ sslmode, ca }: PostgresSettings): ConnectionOptions | false {
  const trusted = ca === undefined ? {} : { ca };
  switch (sslmode) {
    case 'disable':
      return false;
    case 'allow':
    case 'prefer':
    case 'require':
      return { rejectUnauthorized: false };
    case 'verify-ca':
      return { ...trusted, rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case 'verify-full':
      return { ...trusted, rejectUnauthorized: true };
  }
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
  if (!isObject(auth))
    throw configurationError(KIND, 'auth must be a mapping with host, port, database, user, password');
  return { ...connectionFields(firstOf(auth, 'connection_string', 'connection')), ...fieldsOf(auth) };
}

function connectionFields(connection: Json | undefined): Fields {
  if (connection === undefined) return {};
  if (isObject(connection)) return fieldsOf(connection);
  if (typeof connection !== 'string') throw configurationError(KIND, 'connection_string must be text');
  return urlFields(connection.trim());
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

/** A text that cannot be read is never repeated: a password may be in it. */
function urlFields(text: string): Fields {
  const unreadable = () =>
    configurationError(
      KIND,
      'connection_string is not of the form postgres://user:password@host:5432/database (are special characters percent-encoded?)',
    );
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) throw unreadable();
  const url = new URL(text);
  try {
    return withoutEmpty({
      host: url.searchParams.get('host') ?? decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
      port: url.port,
      database: decodeURIComponent(url.pathname.slice(1)),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      sslmode: url.searchParams.get('sslmode') ?? '',
    });
  } catch {
    throw unreadable();
  }
}

function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

function portOf(text: string | undefined): number {
  const port = text === undefined || text === '' ? 5432 : Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw configurationError(KIND, 'port must be a number between 1 and 65535');
}

function sslModeOf(text: string | undefined): SslMode {
  const mode = SSL_MODES.find((known) => known === (text ?? 'prefer').toLowerCase());
  if (mode === undefined) throw configurationError(KIND, `sslmode must be one of ${SSL_MODES.join(', ')}`);
  return mode;
}

/** A path would let a playbook read any file of the worker. */
function certificateOf(text: string): string {
  if (text.includes('-----BEGIN')) return text;
  throw configurationError(KIND, 'sslrootcert must be the certificate itself (PEM text), not a path');
}
