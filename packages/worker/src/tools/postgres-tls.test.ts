// Encrypted connections. The server of the tests speaks plain text, so something in front of it takes the encryption off.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, connect as dial, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import type { JsonObject } from '@noetl/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshDatabase, type TestDatabase } from '../../../../test/support/postgres.js';
import { createPostgresTool } from './postgres.js';
import type { ToolCall } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

let database: TestDatabase;
let front: Server;
let certificate: string;
const tool = createPostgresTool();

beforeAll(async () => {
  database = await freshDatabase();
  const pair = await selfSigned('localhost');
  certificate = pair.cert;
  front = encryptedFront(pair, Number(new URL(database.url).port));
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
});

afterAll(async () => {
  await tool.close?.();
  front.close();
  await database.drop();
});

async function selfSigned(host: string): Promise<{ key: string; cert: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'noetl-tls-'));
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const files = ['-keyout', key, '-out', cert];
  await promisify(execFile)('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    ...names,
    ...files,
  ]);
  const pair = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  await rm(folder, { recursive: true });
  return pair;
}

/** Answers the request for encryption, and passes everything behind it on to the real server. */
function encryptedFront(pair: { key: string; cert: string }, port: number): Server {
  const secureContext = createSecureContext(pair);
  return createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      const open = new TLSSocket(socket, { isServer: true, secureContext });
      const behind = dial(port, '127.0.0.1');
      for (const side of [open, behind]) side.on('error', () => undefined);
      open.pipe(behind).pipe(open);
    });
  });
}

function run(config: JsonObject, parts: Partial<ToolCall> = {}) {
  const { username: user, password } = new URL(database.url);
  const { port } = front.address() as AddressInfo;
  return tool.run(
    toolCall(
      { host: 'localhost', port, database: database.name, user, password: decodeURIComponent(password), ...config },
      parts,
    ),
  );
}

it.each(['require', 'prefer', 'allow'])('sslmode %s encrypts and asks for no certificate', async (sslmode) => {
  expect(await run({ sslmode, query: 'SELECT 1 AS n' })).toMatchObject({ data: { rows: [{ n: 1 }] } });
});

it('sslmode verify-full takes a certificate that is trusted and names the host', async () => {
  const result = await run({ sslmode: 'verify-full', sslrootcert: certificate, query: 'SELECT 1 AS n' });
  expect(result).toMatchObject({ data: { rows: [{ n: 1 }] } });
});

it('sslmode verify-full refuses a certificate that nobody vouches for', async () => {
  await expect(run({ sslmode: 'verify-full', query: 'SELECT 1' })).rejects.toThrow('self-signed certificate');
});

it('sslmode verify-full refuses a certificate of another host, and verify-ca does not', async () => {
  const config = { host: '127.0.0.1', sslrootcert: certificate, query: 'SELECT 1 AS n' };
  await expect(run({ ...config, sslmode: 'verify-full' })).rejects.toThrow("does not match certificate's altnames");
  expect(await run({ ...config, sslmode: 'verify-ca' })).toMatchObject({ status: 'success' });
});

it('a cancellation is encrypted, too', async () => {
  const result = await run({
    sslmode: 'verify-full',
    sslrootcert: certificate,
    query: 'SELECT pg_sleep(600)',
    timeout: 1,
  });
  expect(result).toMatchObject({ status: 'timeout' });
  const asked = await run({
    query: "SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE '%sleep(600)' AND state = 'active'",
  });
  expect(asked).toMatchObject({ data: { rows: [{ n: 0 }] } });
});
