// Completion callbacks on their way out: rows in the outbox become signed requests, and are tried again until they are taken.
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseJson } from '../../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { post } from '../support/ask.js';
import { chain } from '../support/playbooks.js';
import { done, failed, leaseOne } from '../support/reports.js';
import { sql } from '../support/sql.js';
import { putRows, rowOf } from './outbox-rows.js';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const SECRET = 'callback-secret';
const received: Received[] = [];
/** Paths that answer 503 so many times before they answer 204. */
const failures = new Map<string, number>();
let base = '';
let server: TestServer;

const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const path = request.url ?? '';
    received.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
    const left = failures.get(path) ?? 0;
    failures.set(path, left - 1);
    response.writeHead(left > 0 ? 503 : 204).end();
  });
});

beforeAll(async () => {
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  const address = receiver.address();
  base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  server = await startTestServer({
    env: { NOETL_CALLBACK_SECRET: SECRET, NOETL_CALLBACK_ALLOW_PRIVATE: 'true', NOETL_OUTBOX_MAX_ATTEMPTS: '2' },
  });
});
afterAll(() => receiver.close());

async function arrived(path: string, count = 1): Promise<Received[]> {
  for (;;) {
    const found = received.filter((item) => item.path === path);
    if (found.length >= count) return found;
    await delay(20);
  }
}

async function settled(id: string, status: string): Promise<void> {
  while ((await rowOf(server.database, id)).status !== status) await delay(20);
}

describe('a completion callback', () => {
  it('is delivered with a signature over what was sent', async () => {
    const [id] = await putRows(server.database, 1, { topic: 'callback', subject: `${base}/signed` });
    const [request] = await arrived('/signed');
    await settled(String(id), 'PUBLISHED');
    const [, time, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request?.headers['x-noetl-signature'])) ?? [];
    expect(mac).toBe(createHmac('sha256', SECRET).update(`${time}.${request?.body}`).digest('hex'));
    expect(parseJson(request?.body ?? '')).toEqual({ n: 1 });
  });

  it('is tried again after a failure, under the same delivery id', async () => {
    failures.set('/flaky', 1);
    const [id] = await putRows(server.database, 1, { topic: 'callback', subject: `${base}/flaky` });
    const requests = await arrived('/flaky', 2);
    await settled(String(id), 'PUBLISHED');
    expect(new Set(requests.map((request) => request.headers['x-noetl-delivery'])).size).toBe(1);
    expect(requests.map((request) => request.headers['x-noetl-attempt'])).toEqual(['1', '2']);
  });

  it('is given up after the last attempt, with what went wrong', async () => {
    failures.set('/never', 1_000);
    const [id] = await putRows(server.database, 1, { topic: 'callback', subject: `${base}/never` });
    await settled(String(id), 'DEAD');
    expect((await rowOf(server.database, String(id))).last_error).toContain('503');
  });

  it('that nobody can receive does not keep others waiting', async () => {
    await putRows(server.database, 1, { topic: 'callback', subject: 'http://127.0.0.1:1/closed' });
    await putRows(server.database, 1, { topic: 'callback', subject: `${base}/beside` });
    await arrived('/beside');
    const [row] = await sql<{ n: number }>(
      server.database,
      `SELECT count(*)::int AS n FROM noetl.outbox WHERE subject LIKE '%/beside' AND status <> 'DEAD'`,
    );
    expect(row?.n).toBe(1);
  });
});

describe('an execution that was started with a callback URL', () => {
  const hook = (path: string) => `${base}${path}`;

  async function startWith(callback_url: string): Promise<string> {
    await server.client.register(chain('callbacks/one', 1));
    const answer = await post(server.url, '/api/execute', { path: 'callbacks/one', callback_url });
    expect(answer.status).toBe(200);
    return String(answer.body.execution_id);
  }

  it.each(['COMPLETED', 'FAILED', 'CANCELLED'])('tells it once when it is %s', async (status) => {
    const path = `/ended-${status}`;
    const id = await startWith(hook(path));
    const command = await leaseOne(server.client);
    if (status === 'CANCELLED') await server.client.cancel(id, { reason: 'enough' });
    else {
      const report = status === 'COMPLETED' ? done(command) : failed(command, 'no luck');
      await server.client.report({ worker_id: 'w1', reports: [report] });
    }
    const [request] = await arrived(path);
    expect(parseJson(request?.body ?? '')).toMatchObject({
      type: 'execution.ended',
      execution_id: id,
      status,
      path: 'callbacks/one',
    });
    const rows = await sql(
      server.database,
      `SELECT 1 FROM noetl.outbox WHERE topic = 'callback' AND execution_id = $1`,
      [id],
    );
    expect(rows).toHaveLength(1);
  });

  it.each(['nonsense', 'ftp://example.com/', 7])('is refused with 422 when the URL is %j', async (callback_url) => {
    const answer = await post(server.url, '/api/execute', { path: 'callbacks/one', callback_url });
    expect([answer.status, answer.body.error]).toEqual([422, expect.stringContaining('callback_url')]);
  });

  it('is refused with 422 by a server that has nothing to sign with', async () => {
    const unsigned = await startTestServer();
    await unsigned.client.register(chain('callbacks/one', 1));
    const answer = await post(unsigned.url, '/api/execute', { path: 'callbacks/one', callback_url: hook('/x') });
    expect([answer.status, answer.body.error]).toEqual([422, expect.stringContaining('NOETL_CALLBACK_SECRET')]);
  });
});
