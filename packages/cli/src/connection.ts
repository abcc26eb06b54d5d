// Which server a command talks to, and as whom: `--server`, else NOETL_SERVER_URL, else the server that holds the data
// directory, else the default address.
import { createClient, type NoetlClient } from '@noetl/client';
import { DEFAULT_DATA_DIR, DEFAULT_SERVER_URL } from './connection-defaults.js';
import { dataDirHolder } from './datadir/lock.js';
import { usageError } from './errors.js';

export interface ConnectionOptions {
  readonly server?: string | undefined;
  readonly dataDir?: string | undefined;
}

/** Undefined when the user named no server: then it is ours to find or start. */
export function namedServer(options: ConnectionOptions, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = options.server ?? (env['NOETL_SERVER_URL'] || undefined);
  return named === undefined ? undefined : checkUrl(named);
}

export function serverUrl(options: ConnectionOptions, env: NodeJS.ProcessEnv = process.env): string {
  const held = dataDirHolder(options.dataDir ?? DEFAULT_DATA_DIR)?.url;
  return namedServer(options, env) ?? held ?? DEFAULT_SERVER_URL;
}

export function connect(options: ConnectionOptions): NoetlClient {
  return connectTo(serverUrl(options));
}

export function connectTo(url: string): NoetlClient {
  const token = process.env['NOETL_API_TOKEN'];
  return createClient({ baseUrl: url, ...(token ? { token } : {}) });
}

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw usageError(`"${text}" is not a server address.`, `Write it like ${DEFAULT_SERVER_URL}.`);
  }
  return text.replace(/\/+$/, '');
}
