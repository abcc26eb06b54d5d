import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '@noetl/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { always, dataOf, failing, noop, policy } from './sequence.fixture.js';

const server = createServer((request, response) => {
  const status = Number((request.url ?? '').slice(1));
  response.writeHead(status, { 'content-type': 'application/json', 'x-mark': 'm' }).end('{"id": 7, "status": "mine"}');
});
let origin = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** What a rule reads, as the value of `template`. */
async function seenBy(task: JsonObject, template: string): Promise<Json | undefined> {
  const rule = always({ do: 'continue', set: { 'ctx.seen': template } });
  const data = await dataOf([{ a: { ...task, ...policy(rule) } }]);
  return (data['_context_updates'] as JsonObject)['ctx.seen'];
}

const http = (status: number): JsonObject => ({ kind: 'http', url: `${origin}/${status}` });

describe('what a rule reads of a success', () => {
  it.each([
    ["{{ [output.status == 'ok', output.status == 'success', output.status == 'error'] }}", [true, true, false]],
    ['{{ [output.ok, outcome.ok] }}', [true, true]],
    ['{{ output.status }}', 'ok'],
    ['{{ [output.data.x, output.response.x, output.result.x, output.x, outcome.data.x] }}', [1, 1, 1, 1, 1]],
    ['{{ [output.error, output.ref] }}', [null, null]],
    ['{{ output.meta.attempt }}', 1],
    ['{{ output.meta.duration_ms >= 0 }}', true],
  ])('%s', async (template, value) => {
    expect(await seenBy(noop({ x: 1 }), template)).toEqual(value);
  });

  it('a reference', async () => {
    expect(await seenBy(noop({ _ref: { uri: 'r' } }), '{{ output.ref.uri }}')).toBe('r');
  });
});

describe('what a rule reads of an http answer', () => {
  it.each([
    ['{{ output.http.status }}', 200],
    ["{{ output.http.headers['x-mark'] }}", 'm'],
    ['{{ output.data.status_code }}', 200],
    ['{{ [output.data.id, output.data.data.id] }}', [7, 7]],
    ['{{ output.status }}', 'ok'],
  ])('%s', async (template, value) => {
    expect(await seenBy(http(200), template)).toEqual(value);
  });

  it.each([
    [401, 'auth', false],
    [404, 'not_found', false],
    [422, 'client_error', false],
    [429, 'rate_limit', true],
    [503, 'server_error', true],
  ])('of status %i', async (status, kind, retryable) => {
    const template = '{{ [output.status, output.error.kind, output.error.retryable, output.error.status_code] }}';
    expect(await seenBy(http(status), template)).toEqual(['error', kind, retryable, status]);
  });

  it('the body of an error', async () => {
    expect(await seenBy(http(422), '{{ [output.data.id, output.error.status, output.http.status] }}')).toEqual([
      7, 422, 422,
    ]);
  });
});

describe('what a rule reads of an error', () => {
  it('a refused connection', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const task = { kind: 'http', url: `http://127.0.0.1:${port}/` };
    const template =
      '{{ [output.status, output.error.kind, output.error.retryable, output.error.code, output.http.status] }}';
    expect(await seenBy(task, template)).toEqual(['error', 'connection', true, 'CONN_REFUSED', null]);
  });

  it('a configuration that the tool threw at', async () => {
    const template = '{{ [output.status, output.ok, output.error.kind, output.data, output.meta.attempt] }}';
    expect(await seenBy({ kind: 'http' }, template)).toEqual(['error', false, 'configuration', null, 1]);
  });

  it('a tool that does not exist', async () => {
    expect(await seenBy({ kind: 'teleport' }, '{{ output.error.code }}')).toBe('TOOL_NOT_FOUND');
  });

  it('an exit code', async () => {
    expect(await seenBy(failing(), '{{ [output.error.code, output.data.exit_code] }}')).toEqual(['EXIT_3', 3]);
  });

  it('a time-out', async () => {
    const task = { kind: 'shell', command: 'sleep 30', timeout: 0.1 };
    expect(await seenBy(task, "{{ [output.status == 'failed', output.error.kind] }}")).toEqual([true, 'timeout']);
  });

  it('an exception of a script', async () => {
    const task = { kind: 'python', code: 'raise KeyError("k")' };
    const template = "{{ [output.py.exception, 'KeyError' in output.py.traceback, output.error.kind] }}";
    expect(await seenBy(task, template)).toEqual(['KeyError', true, 'schema']);
  });
});
