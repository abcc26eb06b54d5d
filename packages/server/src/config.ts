// Settings from the environment and the command line. A value that cannot be read stops the start and is named; nothing falls back
// silently to a default.
import { parseJson } from '@noetl/core';
import { type CleanupPolicy, readPolicy } from './cleanup/index.js';
import { shardUrl } from './db/index.js';
import { isLoopbackName } from './http/index.js';
import type { CallbackSettings, OutboxSettings } from './outbox/index.js';
import { type MessagingSettings, messagingSettings } from './stream/index.js';

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly shards: readonly string[];
  readonly cluster?: string;
  readonly maxConnections: number;
  readonly acquireTimeoutMs: number;
  readonly token: string | undefined;
  readonly insecure: boolean;
  readonly leaseMs: number;
  readonly offlineSeconds: number;
  readonly logLevel: string;
  readonly metrics: boolean;
  readonly machineId: number | undefined;
  readonly publicUrl: string | undefined;
  /** NATS, and what goes over it. */
  readonly messaging: MessagingSettings;
  /** Environment variables that templates may read as `env.NAME`. */
  readonly templateEnv: Readonly<Record<string, string>>;
  readonly outbox: OutboxSettings;
  readonly callbacks: CallbackSettings;
  /** Every event also becomes an outbox row. */
  readonly eventMirror: boolean;
  /** How often the server cleans up by itself (0: never), and what it keeps. */
  readonly cleanup: { readonly intervalMs: number; readonly policy: CleanupPolicy };
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface ServerFlags {
  readonly host?: string;
  readonly port?: number;
  readonly insecure?: boolean;
  readonly databaseUrl?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function loadServerConfig(env: Env, flags: ServerFlags = {}): ServerConfig {
  const shards = (env.NOETL_SHARDS ?? '')
    .split(',')
    .map((dsn) => dsn.trim())
    .filter((dsn) => dsn !== '');
  const readShard = (dsn: string, variable: string) => {
    try {
      return shardUrl(dsn, variable);
    } catch (error) {
      throw new ConfigError((error as Error).message);
    }
  };
  const clusterDsn = env.NOETL_CLUSTER_DSN?.trim();
  const config: ServerConfig = {
    host: flags.host ?? env.NOETL_HOST ?? '127.0.0.1',
    port: flags.port ?? integer(env, 'NOETL_PORT', 8082, 0, 65_535),
    shards:
      shards.length > 0
        ? shards.map((dsn, index) => readShard(dsn, `NOETL_SHARDS[${index}]`))
        : [flags.databaseUrl ?? databaseUrl(env)],
    ...(clusterDsn ? { cluster: readShard(clusterDsn, 'NOETL_CLUSTER_DSN') } : {}),
    maxConnections: integer(env, 'POSTGRES_MAX_CONNECTIONS', 10, 2, 1000),
    acquireTimeoutMs: integer(env, 'POSTGRES_ACQUIRE_TIMEOUT', 30, 1, 3600) * 1000,
    token: env.NOETL_API_TOKEN?.trim() || undefined,
    insecure: flags.insecure ?? boolean(env, 'NOETL_INSECURE', false),
    leaseMs: integer(env, 'NOETL_COMMAND_CLAIM_LEASE_SECONDS', 60, 1, 86_400) * 1000,
    offlineSeconds: integer(env, 'NOETL_RUNTIME_OFFLINE_SECONDS', 60, 5, 86_400),
    logLevel: level(env),
    metrics: !boolean(env, 'NOETL_DISABLE_METRICS', false),
    machineId:
      env.NOETL_SERVER_MACHINE_ID === undefined ? undefined : integer(env, 'NOETL_SERVER_MACHINE_ID', 0, 0, 1023),
    publicUrl: env.NOETL_PUBLIC_SERVER_URL?.replace(/\/+$/, ''),
    messaging: messaging(env),
    templateEnv: allowed(env),
    outbox: {
      leaseMs: integer(env, 'NOETL_OUTBOX_LOCK_TIMEOUT_SECS', 300, 1, 86_400) * 1000,
      maxAttempts: integer(env, 'NOETL_OUTBOX_MAX_ATTEMPTS', 20, 1, 10_000),
    },
    callbacks: {
      secret: env.NOETL_CALLBACK_SECRET?.trim() || undefined,
      allowPrivate: boolean(env, 'NOETL_CALLBACK_ALLOW_PRIVATE', false),
    },
    eventMirror: boolean(env, 'NOETL_EVENT_MIRROR_ENABLED', false),
    cleanup: {
      intervalMs: integer(env, 'NOETL_CLEANUP_INTERVAL_SECONDS', 3_600, 0, 86_400) * 1000,
      policy: cleanupPolicy(env),
    },
  };
  if (!isLoopbackName(config.host) && config.token === undefined && !config.insecure) {
    throw new ConfigError(
      `refusing to listen on ${config.host} without authentication: set NOETL_API_TOKEN, listen on 127.0.0.1, or pass --insecure if something in front of the server checks who calls`,
    );
  }
  return config;
}

function messaging(env: Env): MessagingSettings {
  try {
    return messagingSettings(env);
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

/** `DATABASE_URL`, else the `POSTGRES_*` parts. */
export function databaseUrl(env: Env): string {
  if (env.DATABASE_URL) return env.DATABASE_URL;
  const url = new URL('postgres://localhost');
  url.hostname = env.POSTGRES_HOST ?? 'localhost';
  url.port = String(integer(env, 'POSTGRES_PORT', 5432, 1, 65_535));
  url.username = encodeURIComponent(env.POSTGRES_USER ?? 'noetl');
  url.password = encodeURIComponent(env.POSTGRES_PASSWORD ?? '');
  url.pathname = `/${encodeURIComponent(env.POSTGRES_DATABASE ?? 'noetl')}`;
  return url.toString();
}

export function hasExternalDatabase(env: Env): boolean {
  return [env.DATABASE_URL, env.POSTGRES_HOST, env.NOETL_SHARDS].some((value) => value !== undefined && value !== '');
}

function integer(env: Env, name: string, fallback: number, min: number, max: number): number {
  const text = env[name]?.trim();
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || value < min || value > max)
    throw new ConfigError(`${name}=${text}: must be a whole number from ${min} to ${max}`);
  return value;
}

function cleanupPolicy(env: Env): CleanupPolicy {
  try {
    return readPolicy(parseJson(env.NOETL_CLEANUP_POLICY?.trim() || '{}'));
  } catch (error) {
    throw new ConfigError(`NOETL_CLEANUP_POLICY: ${(error as Error).message}`);
  }
}

function boolean(env: Env, name: string, fallback: boolean): boolean {
  const text = env[name]?.trim().toLowerCase();
  if (text === undefined || text === '') return fallback;
  if (['1', 'true', 'yes', 'on'].includes(text)) return true;
  if (['0', 'false', 'no', 'off'].includes(text)) return false;
  throw new ConfigError(`${name}=${text}: must be true or false`);
}

function level(env: Env): string {
  const text = env.NOETL_LOG_LEVEL?.toLowerCase() ?? 'info';
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
  if (!levels.includes(text)) throw new ConfigError(`NOETL_LOG_LEVEL=${text}: must be one of ${levels.join(', ')}`);
  return text;
}

/** Templates see only what the operator names; the process environment holds secrets. */
function allowed(env: Env): Record<string, string> {
  const names = (env.NOETL_TEMPLATE_ENV_VARS ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name] as string]])));
}
