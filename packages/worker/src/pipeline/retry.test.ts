import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@noetl/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../log.js';
import { always, dataOf, failing, noop, policy, run, when } from './sequence.fixture.js';

/** Statuses to answer with, in order; 200 when they are used up. A page number is answered with that page. */
let statuses: number[] = [];
let seen: { url: string; key: string; auth: string | undefined }[] = [];
let retryAfter: string | undefined;
let origin = '';
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? '';
    seen.push({ url, key: String(request.headers['idempotency-key']), auth: request.headers.authorization });
    const status = statuses.shift() ?? 200;
    const page = Number(new URL(url, origin).searchParams.get('page') ?? 0);
    const headers = {
      'content-type': 'application/json',
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
    };
    response
      .writeHead(status, headers)
      .end(JSON.stringify({ page, items: [page * 10], more: page < 3, calls: seen.length }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  statuses = [];
  seen = [];
  retryAfter = undefined;
});

function http(more: JsonObject = {}): JsonObject {
  return { kind: 'http', url: `${origin}/things`, ...more };
}

const retryErrors = (then: JsonObject = {}): JsonObject =>
  when('{{ output.error.retryable }}', { do: 'retry', backoff: 'none', ...then });

describe('retry', () => {
  it('repeats a task until it succeeds', async () => {
    statuses = [503, 500];
    const data = await dataOf([{ a: http(policy(retryErrors())) }, { b: noop('{{ a.status_code }}') }]);
    expect(data).toMatchObject({ b: 200, _pipeline: ['a', 'b'] });
    expect(seen).toHaveLength(3);
  });

  it.each([
    [undefined, 3],
    [1, 1],
    [2, 2],
    ['{{ workload.tries }}', 4],
    ['5', 5],
  ])('with attempts %o executes %i times in total', async (attempts, total) => {
    statuses = Array.from({ length: 9 }, () => 503);
    const rule = retryErrors(attempts === undefined ? {} : { attempts });
    const result = await run([{ a: http(policy(rule)) }], { context: { workload: { tries: 4 } } });
    expect(result).toMatchObject({ status: 'error', error: 'HTTP 503 response', error_info: { kind: 'server_error' } });
    expect(seen).toHaveLength(total);
  });

  it('is not tried for what another rule decides', async () => {
    statuses = [404];
    const gone = when('{{ output.http.status == 404 }}', { do: 'continue' });
    expect(await dataOf([{ a: http(policy(retryErrors(), gone)) }])).toMatchObject({ a: { status_code: 404 } });
    expect(seen).toHaveLength(1);
  });

  it('counts executions for the rule and for the task', async () => {
    const task = failing({
      command: 'echo {{ _attempt }}; exit 3',
      ...policy(
        when('{{ _attempt < 3 and output.meta.attempt == _attempt }}', { do: 'retry', backoff: 'none', attempts: 9 }),
        always({ do: 'continue' }),
      ),
    });
    expect(await dataOf([{ a: task }])).toMatchObject({ a: { stdout: '3\n' } });
  });

  it('may wait for a success to look different, within its attempts', async () => {
    const pending = when('{{ output.data.calls < 3 }}', { do: 'retry', backoff: 'none', attempts: 5 });
    expect(await dataOf([{ a: http(policy(pending)) }])).toMatchObject({ a: { data: { calls: 3 } } });
  });

  it('of a success that never looks different ends with an error', async () => {
    const rule = always({ do: 'retry', backoff: 'none', attempts: 4 });
    expect(await run([{ a: noop(1, policy(rule)) }])).toMatchObject({
      status: 'error',
      error: "task 'a' still asks for a retry after 4 executions",
      error_info: { code: 'RETRY_EXHAUSTED' },
    });
  });

  it('starts anew after a success: a loop over pages does not use up one budget', async () => {
    // Each of the three pages fails once; two executions are allowed for each.
    statuses = [503, 200, 503, 200, 503, 200];
    const next = when('{{ output.data.more }}', {
      do: 'jump',
      to: 'fetch',
      set: { 'iter.page': '{{ iter.page + 1 }}' },
    });
    const fetch = http({ params: { page: '{{ iter.page }}' }, ...policy(retryErrors({ attempts: 2 }), next) });
    await dataOf([{ fetch }], { context: { iter: { page: 1 } } });
    expect(seen.map(({ url }) => url.slice(-1))).toEqual(['1', '1', '2', '2', '3', '3']);
  });

  it('repeats a request with its idempotency key; another request has another one', async () => {
    statuses = [503];
    await dataOf([{ a: http(policy(retryErrors())) }, { b: http() }]);
    const [first, again, other] = seen.map(({ key }) => key);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  it('of a success is another request, with an idempotency key of its own', async () => {
    const pending = when('{{ output.data.calls < 3 }}', { do: 'retry', backoff: 'none', attempts: 5 });
    await dataOf([{ a: http(policy(pending)) }]);
    expect(new Set(seen.map(({ key }) => key)).size).toBe(3);
  });

  it('sends the credential of the task every time', async () => {
    statuses = [503];
    await dataOf([{ a: http({ auth: { type: 'bearer', token: '{{ workload.t }}' }, ...policy(retryErrors()) }) }], {
      context: { workload: { t: 'tok' } },
    });
    expect(seen.map(({ auth }) => auth)).toEqual(['Bearer tok', 'Bearer tok']);
  });

  it('keeps the command as idempotency key of a single tool', async () => {
    await run([{ a: http(policy(retryErrors())) }], { meta: { single: true } });
    expect(seen.map(({ key }) => key)).toEqual(['cmd-1']);
  });
});

describe('pagination', () => {
  it('jumps back for each page and collects what they hold', async () => {
    const fetch = http({ params: { page: '{{ ctx.page | default(1) }}' } });
    const collect = noop('{{ (collect | default([])) + fetch.data.items }}', {
      ...policy(
        when('{{ fetch.data.more }}', { do: 'jump', to: 'fetch', set: { 'ctx.page': '{{ fetch.data.page + 1 }}' } }),
        always({ do: 'break' }),
      ),
    });
    const data = await dataOf([{ fetch }, { collect }, { never: failing() }]);
    expect(data).toMatchObject({
      collect: [10, 20, 30],
      _pipeline: ['fetch', 'collect'],
      _context_updates: { 'ctx.page': 3 },
    });
  });

  it('sends every page with an idempotency key of its own', async () => {
    const next = when('{{ output.data.more }}', {
      do: 'jump',
      to: 'fetch',
      set: { 'iter.page': '{{ iter.page + 1 }}' },
    });
    await dataOf([{ fetch: http({ params: { page: '{{ iter.page }}' }, ...policy(next) }) }], {
      context: { iter: { page: 1 } },
    });
    expect(new Set(seen.map(({ key }) => key)).size).toBe(3);
  });
});

describe('the wait before a retry', () => {
  /** Resolves when the runner says that it is about to wait. */
  function waitingFor(): { log: typeof silentLog; waits: Promise<JsonObject> } {
    let announce: (fields: JsonObject) => void = () => undefined;
    const waits = new Promise<JsonObject>((resolve) => {
      announce = resolve;
    });
    return { log: { ...silentLog, debug: (fields: object) => announce(fields as JsonObject) }, waits };
  }

  it('ends at once when the command is aborted', async () => {
    statuses = [503];
    const controller = new AbortController();
    const { log, waits } = waitingFor();
    const rule = retryErrors({ backoff: 'constant', delay: 200 });
    const ended = run([{ a: http(policy(rule)) }], { log, signal: controller.signal });
    expect(await waits).toMatchObject({ delay_ms: 200_000, retry: 1, task: 'a' });
    controller.abort(new Error('cancelled'));
    await expect(ended).rejects.toThrow('cancelled');
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['the header of the target', { backoff: 'none' }, '7', 7_000],
    ['its delay as text', { backoff: 'constant', delay: '{{ "1.5" }}' }, undefined, 1_500],
    ['an unknown word as a constant delay', { backoff: 'fixed', delay: 2 }, undefined, 2_000],
    ['a delay without a backoff as a constant one', { delay: 3, backoff: null }, undefined, 3_000],
    ['one second when only the backoff is given', { backoff: 'linear' }, undefined, 1_000],
  ])('follows %s', async (_what, then, header, delay) => {
    statuses = [429];
    retryAfter = header;
    const controller = new AbortController();
    const { log, waits } = waitingFor();
    const ended = run([{ a: http(policy(retryErrors(then))) }], { log, signal: controller.signal });
    expect(await waits).toMatchObject({ delay_ms: delay });
    controller.abort(new Error('seen enough'));
    await expect(ended).rejects.toThrow('seen enough');
  });
});
