// Rules of a policy that must not be inert. The list of all such mistakes is packages/core/src/engine/defects.test.ts.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { always, dataOf, noop, policy, run, when } from './sequence.fixture.js';

let target: Server | undefined;
afterEach(async () => {
  const server = target;
  target = undefined;
  if (server !== undefined) await new Promise((closed) => server.close(closed));
});

/** Cuts the first connections without an answer, then answers. */
async function failingTarget(cuts: number): Promise<{ url: string; asked(): number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    if (asked <= cuts) request.socket.destroy();
    else response.setHeader('content-type', 'application/json').end('{"n":1}');
  });
  target = server;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked: () => asked };
}

const retryable = when('{{ output.error.retryable }}', { do: 'retry', attempts: 3, backoff: 'none' });

describe('a rule', () => {
  it('is asked when the connection breaks, and can tell that another try may help [B42]', async () => {
    const { url, asked } = await failingTarget(2);
    expect(await dataOf([{ fetch: { kind: 'http', url, ...policy(retryable) } }])).toMatchObject({
      fetch: { body: { n: 1 } },
    });
    expect(asked()).toBe(3);
  });

  it('is asked when the tool cannot read its configuration, and the tasks behind it still run [B42]', async () => {
    const forgive = when("{{ output.error.kind == 'configuration' }}", { do: 'continue' });
    const tasks = [{ broken: { kind: 'http', ...policy(forgive) } }, { after: noop('reached') }];
    expect(await dataOf(tasks)).toMatchObject({ after: 'reached' });
  });

  it('may say what to do and what to set directly under else [B31]', async () => {
    const rule = { else: { do: 'break', set: { 'ctx.seen': '{{ output.data }}' } } };
    const data = await dataOf([{ a: noop(7, policy(rule)) }, { b: noop(2) }]);
    expect(data).toMatchObject({ _pipeline: ['a'], _context_updates: { 'ctx.seen': 7 } });
  });

  it('of a single tool sees the outcome of the tool, not what was there before it ran [B13]', async () => {
    const rules = [when('{{ output.data == 7 }}', { do: 'fail' }), always({ do: 'continue' })];
    const result = await run([{ only: noop(7, policy(...rules)) }], { meta: { single: true } });
    expect(result.status).toBe('error');
  });
});
