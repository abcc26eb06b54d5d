import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { JsonObject } from '@noetl/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createHttpTool } from './http.js';
import type { ToolResult } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

interface Seen {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Two servers, because a credential must not follow a redirect to another origin. */
const origins: string[] = [];
let seen: Seen[] = [];
let reply: (request: Seen, response: ServerResponse) => void = () => undefined;

const servers = [0, 1].map(() =>
  createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    seen.push(one);
    reply(one, response);
  }),
);

beforeAll(async () => {
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origins.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
beforeEach(() => {
  seen = [];
  reply = (_request, response) => json(response, '{"ok":true}');
});

const http = createHttpTool();

function json(
  response: ServerResponse,
  text: string,
  status = 200,
  headers: Record<string, string | string[]> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

function run(config: JsonObject, signal?: AbortSignal): Promise<ToolResult> {
  const full = { kind: 'http', url: `${origins[0]}/things`, ...config };
  return http.run(toolCall(full, signal === undefined ? {} : { signal }));
}

async function sent(config: JsonObject): Promise<Seen> {
  await run(config);
  const [one] = seen;
  if (one === undefined) throw new Error('nothing was sent');
  return one;
}

describe('what an http step sends', () => {
  it('a GET by default, with the command as idempotency key', async () => {
    expect(await sent({})).toMatchObject({ method: 'GET', url: '/things', headers: { 'idempotency-key': 'cmd-1' } });
  });

  it('the idempotency key of the author instead', async () => {
    const { headers } = await sent({ headers: { 'Idempotency-Key': 'order-7' } });
    expect(headers['idempotency-key']).toBe('order-7');
  });

  it('params as text, without nulls, lists repeated', async () => {
    const params = { n: 1, big: 9007199254740993n, on: true, none: null, tag: ['a', 'b'], q: 'a b&c' };
    expect((await sent({ params })).url).toBe('/things?n=1&big=9007199254740993&on=true&tag=a&tag=b&q=a+b%26c');
  });

  it('params after those of the URL', async () => {
    expect((await sent({ url: `${origins[0]}/x?a=1`, params: { b: 2 } })).url).toBe('/x?a=1&b=2');
  });

  it('a JSON body that keeps large integers', async () => {
    const { body, headers } = await sent({ method: 'post', json: { id: 9007199254740993n } });
    expect(body).toBe('{"id":9007199254740993}');
    expect(headers['content-type']).toBe('application/json');
  });

  it('json before form before body', async () => {
    expect((await sent({ method: 'POST', json: { a: 1 }, form: { b: 2 }, body: 'c' })).body).toBe('{"a":1}');
    seen = [];
    expect((await sent({ method: 'POST', form: { b: 2 }, body: 'c' })).body).toBe('b=2');
  });

  it.each(['body', 'payload', 'data'])('an object in %s as JSON', async (key) => {
    const request = await sent({ method: 'PUT', [key]: { a: [1] } });
    expect(request).toMatchObject({ body: '{"a":[1]}', headers: { 'content-type': 'application/json' } });
  });

  it('text as it is', async () => {
    const request = await sent({ method: 'POST', body: 'plain' });
    expect(request).toMatchObject({ body: 'plain', headers: { 'content-type': 'text/plain' } });
  });

  it('text that is a JSON document as JSON', async () => {
    expect((await sent({ method: 'POST', body: '{"a": 1}' })).headers['content-type']).toBe('application/json');
  });

  it('an object body as a form when the content type says so', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await sent({ method: 'POST', headers, payload: { a: 1, b: 'x y', c: null } })).body).toBe('a=1&b=x+y');
  });

  it('data as the query of a GET', async () => {
    expect(await sent({ data: { page: 2 } })).toMatchObject({ url: '/things?page=2', body: '' });
  });

  it('data that says itself what is query and what is body', async () => {
    const request = await sent({ method: 'POST', data: { query: { a: 1 }, body: { b: 2 } } });
    expect(request).toMatchObject({ url: '/things?a=1', body: '{"b":2}' });
  });

  it.each([
    [{ type: 'bearer', token: 't' }, { authorization: 'Bearer t' }],
    [{ type: 'basic', username: 'u', password: 'p' }, { authorization: 'Basic dTpw' }],
    [{ type: 'api_key', token: 'k' }, { 'x-api-key': 'k' }],
    [{ type: 'api_key', key: 'k', header: 'X-Token' }, { 'x-token': 'k' }],
    [{ type: 'header', headers: { 'X-A': 1 } }, { 'x-a': '1' }],
  ])('the credential %o', async (auth, headers) => {
    expect((await sent({ auth })).headers).toMatchObject(headers);
  });

  it('nothing when the credential is only a name', async () => {
    await expect(run({ auth: 'my_api' })).rejects.toThrow("credential 'my_api' was not resolved");
    expect(seen).toEqual([]);
  });

  it.each([{ url: null }, { url: 'not a url' }, { url: 'file:///etc/passwd' }, { method: 'BREW' }, { params: 'a=1' }])(
    'nothing for %o',
    async (config) => {
      await expect(run(config)).rejects.toThrow('Configuration error: Invalid http config');
    },
  );
});

describe('what an http step answers', () => {
  it('status, headers, url, elapsed time and the parsed body twice', async () => {
    const result = await run({});
    expect(result).toMatchObject({
      status: 'success',
      exit_code: 0,
      data: { status_code: 200, url: `${origins[0]}/things`, data: { ok: true }, body: { ok: true } },
    });
    expect((result.data as JsonObject)['elapsed']).toBeTypeOf('number');
  });

  it('large integers unharmed', async () => {
    reply = (_request, response) => json(response, '{"id":9007199254740993}');
    expect((await run({})).data).toMatchObject({ data: { id: 9007199254740993n } });
  });

  it('text when it is not JSON', async () => {
    reply = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('42');
    expect((await run({})).data).toMatchObject({ data: '42', body: '42' });
  });

  it('JSON that is served as text', async () => {
    reply = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('[1]');
    expect((await run({})).data).toMatchObject({ data: [1] });
  });

  it('the text itself on request', async () => {
    expect((await run({ response_type: 'text' })).data).toMatchObject({ data: '{"ok":true}' });
  });

  it('bytes as base64 on request', async () => {
    reply = (_request, response) => response.end(Buffer.from([0, 255]));
    expect((await run({ response_type: 'binary' })).data).toMatchObject({ data: { base64: 'AP8=', size: 2 } });
  });

  it('null for an empty JSON answer', async () => {
    reply = (_request, response) => json(response, '');
    expect((await run({})).data).toMatchObject({ data: null });
  });

  it('the unpacked body of a compressed answer', async () => {
    reply = (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync('{"zipped":1}'));
    expect((await run({})).data).toMatchObject({ data: { zipped: 1 } });
  });

  it('no cookies', async () => {
    reply = (_request, response) => json(response, '1', 200, { 'set-cookie': ['session=s3cret', 'b=2'], 'x-a': '1' });
    expect((await run({})).data).toMatchObject({ headers: { 'set-cookie': '[REDACTED]', 'x-a': '1' } });
  });

  it('an error that still carries the answer', async () => {
    reply = (_request, response) => json(response, '{"why":"no"}', 422);
    expect(await run({})).toMatchObject({
      status: 'error',
      error: 'HTTP 422 response',
      exit_code: 1,
      data: { status_code: 422, data: { why: 'no' } },
      error_info: { kind: 'client_error', retryable: false, code: 'HTTP_422', http_status: 422 },
    });
  });

  it('how long to wait when it is asked to', async () => {
    reply = (_request, response) => json(response, '{}', 429, { 'retry-after': '7' });
    expect((await run({})).error_info).toMatchObject({ kind: 'rate_limit', retryable: true, retry_after: 7 });
  });
});

describe('redirects of an http step', () => {
  const redirect = (location: string, status: number) => (request: Seen, response: ServerResponse) =>
    request.url === '/things' ? response.writeHead(status, { location }).end() : json(response, '{"there":true}');

  it('are followed', async () => {
    reply = redirect('/there', 302);
    expect((await run({})).data).toMatchObject({ status_code: 200, url: `${origins[0]}/there` });
  });

  it('are an answer when the author says so', async () => {
    reply = redirect('/there', 302);
    expect(await run({ follow_redirects: false })).toMatchObject({ status: 'error', data: { status_code: 302 } });
  });

  it('turn a POST into a GET, except 307 and 308', async () => {
    reply = redirect('/there', 303);
    await run({ method: 'POST', json: { a: 1 } });
    reply = redirect('/there', 307);
    await run({ method: 'POST', json: { a: 1 } });
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['GET', ''],
      ['POST', '{"a":1}'],
      ['POST', '{"a":1}'],
    ]);
  });

  it('keep the credential within the origin', async () => {
    reply = redirect('/there', 302);
    await run({ auth: { type: 'bearer', token: 't' } });
    expect(seen[1]?.headers.authorization).toBe('Bearer t');
  });

  it('drop every credential on the way to another origin', async () => {
    reply = redirect(`${origins[1]}/there`, 302);
    await run({ headers: { Authorization: 'Bearer t', Cookie: 'c=1' }, auth: { type: 'api_key', key: 'k' } });
    expect(seen[1]?.headers).not.toHaveProperty('authorization');
    expect(seen[1]?.headers).not.toHaveProperty('cookie');
    expect(seen[1]?.headers).not.toHaveProperty('x-api-key');
  });

  it('end after five', async () => {
    reply = (_request, response) => response.writeHead(302, { location: '/things' }).end();
    const result = await run({});
    expect(result).toMatchObject({ status: 'error', error_info: { code: 'TOO_MANY_REDIRECTS', retryable: false } });
    expect(seen).toHaveLength(6);
  });

  it('do not lead to a forbidden address', async () => {
    reply = redirect('http://169.254.169.254/latest/meta-data', 302);
    expect((await run({})).error_info).toMatchObject({ code: 'EGRESS_DENIED', retryable: false });
  });
});

describe('how an http step fails', () => {
  it('retryably when nobody listens', async () => {
    const result = await run({ url: 'http://127.0.0.1:1/' });
    expect(result).toMatchObject({
      status: 'error',
      error_info: { kind: 'connection', retryable: true, code: 'CONN_REFUSED' },
    });
    expect(result.error).toMatch(/^HTTP error: .*ECONNREFUSED/);
  });

  it('retryably when the name does not exist', async () => {
    const result = await run({ url: 'http://no-such-host.invalid/' });
    expect(result.error_info).toMatchObject({ kind: 'connection', code: 'DNS_ERROR', retryable: true });
  });

  it('by time-out when no answer comes', async () => {
    reply = () => undefined;
    expect(await run({ timeout: 0.2 })).toMatchObject({
      status: 'timeout',
      error: 'Execution timed out after 0.2 seconds',
      error_info: { kind: 'timeout', retryable: true, code: 'CONN_TIMEOUT' },
    });
  });

  it('by time-out when the answer does not end', async () => {
    reply = (_request, response) => response.writeHead(200).write('begin');
    expect((await run({ timeout_seconds: '0.2' })).status).toBe('timeout');
  });

  it('at once when it is aborted', async () => {
    const controller = new AbortController();
    reply = () => controller.abort(new Error('cancelled'));
    await expect(run({}, controller.signal)).rejects.toThrow('cancelled');
  });

  it('when the answer is too large, also when it was small on the wire', async () => {
    const small = createHttpTool({ maxResponseBytes: 1000 });
    reply = (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(100_000)));
    const result = await small.run(toolCall({ kind: 'http', url: origins[0] ?? '' }));
    expect(result).toMatchObject({ status: 'error', error_info: { code: 'RESPONSE_TOO_LARGE', retryable: false } });
  });

  it('on a header that would split the request', async () => {
    const result = await run({ headers: { 'X-A': 'a\r\nX-B: b' } });
    expect(result.error_info).toMatchObject({ kind: 'configuration', retryable: false });
    expect(seen).toEqual([]);
  });

  it('on loopback when the worker may only call public addresses', async () => {
    const publicOnly = createHttpTool({ egress: 'public' });
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]']) {
      const result = await publicOnly.run(toolCall({ kind: 'http', url: `http://${host}:1/` }));
      expect(result.error_info?.code).toBe('EGRESS_DENIED');
    }
  });
});
