import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, createClient, isRetryable, type NoetlClient, retryAfterMs, UnreachableError } from './index.js';

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

let server: Server;
let baseUrl: string;
let seen: Seen[];
let answer: (request: Seen, response: ServerResponse) => void;

beforeEach(async () => {
  seen = [];
  answer = (_, response) => json(response, 200, '{}');
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const record = { method: request.method, url: request.url, headers: request.headers, body };
    seen.push(record);
    answer(record, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function json(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

function answerWith(status: number, body: string, headers: Record<string, string> = {}) {
  answer = (_, response) => json(response, status, body, headers);
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('expected a failure');
    },
    (error: unknown) => error,
  );
}

describe('routes', () => {
  const id = '320816801799737344';
  const release = { worker_id: 'w', claim_token: 1, reason: 'drain' };
  const cases: [string, (c: NoetlClient) => Promise<unknown>, string, unknown?][] = [
    [
      'register',
      (c) => c.register('a: 1', 'Playbook'),
      'POST /api/catalog/register',
      { content: 'a: 1', resource_type: 'Playbook' },
    ],
    ['register', (c) => c.register('a: 1'), 'POST /api/catalog/register', { content: 'a: 1' }],
    ['catalogList', (c) => c.catalogList(), 'POST /api/catalog/list', {}],
    ['catalogResource', (c) => c.catalogResource({ path: 'a/b' }), 'POST /api/catalog/resource', { path: 'a/b' }],
    ['catalogDelete', (c) => c.catalogDelete({ path: 'a/b' }), 'POST /api/catalog/delete', { path: 'a/b' }],
    ['catalogRestore', (c) => c.catalogRestore({ path: 'a/b' }), 'POST /api/catalog/restore', { path: 'a/b' }],
    ['validate', (c) => c.validate('a: 1'), 'POST /api/catalog/validate', { content: 'a: 1' }],
    ['execute', (c) => c.execute({ path: 'a/b' }), 'POST /api/execute', { path: 'a/b' }],
    [
      'executeBatch',
      (c) => c.executeBatch([{ path: 'a' }]),
      'POST /api/execute/batch',
      { executions: [{ path: 'a' }] },
    ],
    [
      'listExecutions',
      (c) => c.listExecutions({ status: 'RUNNING', limit: 5 }),
      'GET /api/executions?status=RUNNING&limit=5',
    ],
    ['execution', (c) => c.execution(id, { include_events: false }), `GET /api/executions/${id}?include_events=false`],
    ['status', (c) => c.status(id), `GET /api/executions/${id}/status`],
    [
      'events',
      (c) => c.events(id, { since_event_id: '7', order: 'asc' }),
      `GET /api/executions/${id}/events?since_event_id=7&order=asc`,
    ],
    ['result', (c) => c.result(id), `GET /api/executions/${id}/result`],
    ['explain', (c) => c.explain(id), `GET /api/executions/${id}/explain`],
    ['cancel', (c) => c.cancel(id), `POST /api/executions/${id}/cancel`, {}],
    [
      'cancel',
      (c) => c.cancel(id, { reason: 'r', cascade: false }),
      `POST /api/executions/${id}/cancel`,
      { reason: 'r', cascade: false },
    ],
    ['cancellationCheck', (c) => c.cancellationCheck(id), `GET /api/executions/${id}/cancellation-check`],
    ['finalize', (c) => c.finalize(id, { reason: 'r' }), `POST /api/executions/${id}/finalize`, { reason: 'r' }],
    ['health', (c) => c.health(), 'GET /api/health'],
    ['registerWorker', (c) => c.registerWorker({ name: 'w' }), 'POST /api/worker/pool/register', { name: 'w' }],
    ['heartbeat', (c) => c.heartbeat({ name: 'w' }), 'POST /api/worker/pool/heartbeat', { name: 'w' }],
    ['deregisterWorker', (c) => c.deregisterWorker('w'), 'POST /api/worker/pool/deregister', { name: 'w' }],
    [
      'lease',
      (c) => c.lease({ worker_id: 'w', pools: ['shared'], max: 3, wait_ms: 0 }),
      'POST /api/commands/lease',
      { worker_id: 'w', pools: ['shared'], max: 3, wait_ms: 0 },
    ],
    [
      'report',
      (c) => c.report({ worker_id: 'w', reports: [] }),
      'POST /api/worker/report',
      { worker_id: 'w', reports: [] },
    ],
    ['release', (c) => c.release(id, release), `POST /api/commands/${id}/release`, release],
  ];

  it.each(cases)('%s', async (_, call, route, body) => {
    await call(createClient({ baseUrl }));
    expect(`${seen[0]?.method} ${seen[0]?.url}`).toBe(route);
    expect(seen[0]?.body).toBe(body === undefined ? '' : JSON.stringify(body));
    expect(seen[0]?.headers['content-type']).toBe(body === undefined ? undefined : 'application/json');
  });

  it('keeps a prefix of the base address and encodes what it is given', async () => {
    await createClient({ baseUrl: `${baseUrl}/noetl/` }).status('a/b?c');
    expect(seen[0]?.url).toBe('/noetl/api/executions/a%2Fb%3Fc/status');
  });

  it('refuses an id that would change the route', async () => {
    expect(await failure(createClient({ baseUrl }).status('..'))).toBeInstanceOf(TypeError);
    expect(seen).toEqual([]);
  });
});

describe('requests', () => {
  it('send the token as bearer', async () => {
    await createClient({ baseUrl, token: 's3cret' }).health();
    expect(seen[0]?.headers.authorization).toBe('Bearer s3cret');
  });

  it('send no authorization without a token', async () => {
    await createClient({ baseUrl }).health();
    expect(seen[0]?.headers.authorization).toBeUndefined();
  });

  it('send the idempotency key', async () => {
    await createClient({ baseUrl }).execute({ path: 'a' }, { idempotencyKey: 'k-1' });
    expect(seen[0]?.headers['idempotency-key']).toBe('k-1');
  });

  it('carry integers beyond 2^53 in both directions', async () => {
    answerWith(200, '{"execution_id":"1","status":"COMPLETED","result":{"n":320816801799737345},"steps":{}}');
    const client = createClient({ baseUrl });
    await client.execute({ path: 'a', payload: { n: 320816801799737345n } });
    expect(seen[0]?.body).toBe('{"path":"a","payload":{"n":320816801799737345}}');
    expect(await client.result('1')).toMatchObject({ result: { n: 320816801799737345n } });
  });

  it('go through the fetch they are given', async () => {
    const fetch: typeof globalThis.fetch = async () => new Response('{"status":"ok"}');
    expect(await createClient({ baseUrl, fetch }).health()).toEqual({ status: 'ok' });
    expect(seen).toEqual([]);
  });
});

describe('construction', () => {
  it.each(['', 'localhost:8082', 'ftp://h', '/api'])('refuses the base address %j', (address) => {
    expect(() => createClient({ baseUrl: address })).toThrow(TypeError);
  });

  it('refuses a password in the base address without repeating it', () => {
    expect(() => createClient({ baseUrl: 'http://u:hunter2@h' })).toThrow(/must not hold a password/);
    expect(() => createClient({ baseUrl: 'http://u:hunter2@h' })).not.toThrow(/hunter2/);
  });

  it('refuses a token that no header can carry without repeating it', () => {
    expect(() => createClient({ baseUrl, token: 'hunter2\n' })).toThrow(/no HTTP header/);
    expect(() => createClient({ baseUrl, token: 'hunter2\n' })).not.toThrow(/hunter2/);
  });
});

describe('error answers', () => {
  it('become ApiError with status, code and body', async () => {
    answerWith(409, '{"error":"a newer claim exists","status":409,"code":"stale_claim"}');
    const error = await failure(createClient({ baseUrl, token: 's3cret' }).events('1', { event_type: 'x' }));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 409,
      code: 'stale_claim',
      method: 'GET',
      url: `${baseUrl}/api/executions/1/events`,
      body: { error: 'a newer claim exists', status: 409, code: 'stale_claim' },
      message: `GET ${baseUrl}/api/executions/1/events: a newer claim exists (HTTP 409)`,
    });
    expect(isRetryable(error)).toBe(false);
  });

  it('keep a body that is not JSON as text', async () => {
    answerWith(502, '<h1>Bad gateway</h1>');
    expect(await failure(createClient({ baseUrl }).status('1'))).toMatchObject({
      status: 502,
      code: undefined,
      body: '<h1>Bad gateway</h1>',
    });
  });

  it('may be empty', async () => {
    answerWith(404, '');
    expect(await failure(createClient({ baseUrl }).status('1'))).toMatchObject({ status: 404, body: '' });
  });

  it.each([408, 425, 429, 502, 503, 504])('%i may be retried', async (status) => {
    answerWith(status, '{}');
    expect(isRetryable(await failure(createClient({ baseUrl }).status('1')))).toBe(true);
  });

  it.each([400, 401, 403, 404, 409, 422, 500])('%i may not be retried', async (status) => {
    answerWith(status, '{}');
    expect(isRetryable(await failure(createClient({ baseUrl }).status('1')))).toBe(false);
  });

  it('say how long to wait', async () => {
    answerWith(429, '{}', { 'retry-after': '2' });
    expect(retryAfterMs(await failure(createClient({ baseUrl }).status('1')))).toBe(2_000);
    answerWith(503, '{}', { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' });
    expect(retryAfterMs(await failure(createClient({ baseUrl }).status('1')))).toBe(0);
  });

  it('include a good status with a body that is not JSON', async () => {
    answerWith(200, '<html>');
    const error = await failure(createClient({ baseUrl }).status('1'));
    expect(error).toMatchObject({ name: 'ApiError', status: 200, code: 'invalid_response', body: '<html>' });
  });

  it('of the health route are an answer when they say unhealthy', async () => {
    answerWith(503, '{"status":"unhealthy","database":"disconnected"}');
    expect(await createClient({ baseUrl }).health()).toMatchObject({ database: 'disconnected' });
    answerWith(503, '{"error":"overloaded","status":503}');
    expect(await failure(createClient({ baseUrl }).health())).toBeInstanceOf(ApiError);
  });
});

describe('a server that does not answer', () => {
  it('is unreachable when nobody listens', async () => {
    await new Promise((resolve) => server.close(resolve));
    const error = await failure(createClient({ baseUrl, token: 's3cret' }).execute({ path: 'a' }));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error).toMatchObject({ timedOut: false, method: 'POST', url: `${baseUrl}/api/execute` });
    expect(String(error)).toMatch(/ECONNREFUSED/);
    expect(isRetryable(error)).toBe(true);
  });

  it('is unreachable when the connection breaks in the middle of the body', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"a":');
      response.destroy();
    };
    expect(await failure(createClient({ baseUrl }).status('1'))).toBeInstanceOf(UnreachableError);
  });

  it('is unreachable when the time is up', async () => {
    answer = () => {};
    const error = await failure(createClient({ baseUrl, timeoutMs: 20 }).status('1'));
    expect(error).toMatchObject({ name: 'UnreachableError', timedOut: true });
  });

  it('gets the time it may hold a lease open on top', async () => {
    // The answer comes when the usual timeout has passed, which a second request with that timeout proves.
    let held: ServerResponse | undefined;
    answer = (request, response) => {
      if (request.url === '/api/commands/lease') held = response;
    };
    const client = createClient({ baseUrl, timeoutMs: 50 });
    const lease = client.lease({ worker_id: 'w', pools: [], max: 1, wait_ms: 30_000 });
    expect(await failure(client.status('1'))).toMatchObject({ timedOut: true });
    if (held === undefined) throw new Error('the lease request did not arrive');
    json(held, 200, '{"commands":[]}');
    expect(await lease).toEqual({ commands: [] });
  });

  it('is given up when the caller aborts, with the reason of the caller', async () => {
    const controller = new AbortController();
    const reason = new Error('the user left');
    answer = () => controller.abort(reason);
    expect(await failure(createClient({ baseUrl }).status('1', { signal: controller.signal }))).toBe(reason);
    expect(await failure(createClient({ baseUrl }).status('1', { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });
});
