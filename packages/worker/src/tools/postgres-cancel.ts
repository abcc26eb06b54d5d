// Asks a Postgres server to end what one of its sessions is doing. The request travels on a connection of its own, encrypted when the
// session is, and has no answer: whether it was in time shows in the session itself.
import { once } from 'node:events';
import { connect as dial, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as secure } from 'node:tls';
import type pg from 'pg';

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
const PATIENCE_MS = 5_000;

export interface Server {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions | false;
}

export async function cancelQuery(client: pg.Client, server: Server): Promise<void> {
  const key = backendKey(client);
  if (key === undefined) return;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const socket = dial(addressOf(server));
  // What goes wrong between two waits must not end the process.
  socket.on('error', () => undefined);
  try {
    await once(socket, 'connect', { signal });
    const channel = server.tls === false ? socket : await encrypted(socket, server, server.tls, signal);
    channel.end(message(CANCEL_REQUEST, key.processId, key.secret));
    await once(channel, 'close', { signal });
  } finally {
    socket.destroy();
  }
}

function addressOf({ host, port }: Server): { path: string } | { host: string; port: number } {
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}

async function encrypted(
  socket: Socket,
  { host }: Server,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  socket.write(message(SSL_REQUEST));
  const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
  if (answer.toString('latin1') !== 'S') throw new Error('the server does not support SSL connections');
  const channel = secure({ host, ...(isIP(host) === 0 ? { servername: host } : {}), ...options, socket });
  channel.on('error', () => undefined);
  await once(channel, 'secureConnect', { signal });
  return channel;
}

function message(...words: number[]): Buffer {
  const bytes = Buffer.alloc(4 * (words.length + 1));
  bytes.writeInt32BE(bytes.length, 0);
  for (const [index, word] of words.entries()) bytes.writeInt32BE(word, 4 * (index + 1));
  return bytes;
}

/** The driver keeps both for itself, and its types do not know them. */
function backendKey(client: pg.Client): { processId: number; secret: number } | undefined {
  const { processID, secretKey } = client as pg.Client & { processID?: unknown; secretKey?: unknown };
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return undefined;
  return { processId: processID, secret: secretKey };
}
