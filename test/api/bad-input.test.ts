// Whatever is sent, the answer is a clear 4xx in one shape, and the server goes on.
import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { type Answer, type Asking, ask, get, post } from './support/ask.js';
import { chain, playbook } from './support/playbooks.js';
import { done, leaseOne } from './support/reports.js';

let server: TestServer;
let execution: string;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('bad/one', 1));
  execution = (await server.client.execute({ path: 'bad/one', execution_pool: 'nobody' })).execution_id;
});
afterEach(async () => {
  expect((await get(server.url, '/api/health')).status).toBe(200);
});

const JSON_TYPE = { 'content-type': 'application/json' };

function expectProblem(answer: Answer, status: number, error: RegExp): void {
  expect({ status: answer.status, body: answer.body }).toMatchObject({
    status,
    body: { error: expect.stringMatching(error), status },
  });
}

describe('playbooks that cannot be', () => {
  const register = (content: string) => post(server.url, '/api/catalog/register', { content });
  const cases: [string, string, RegExp][] = [
    ['YAML with a tab', 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata:\n\tname: x\n', /:4:\d+.*tab/is],
    ['an arc to an unknown step', playbook('x', [{ step: 'start', next: ['nowhere'] }]), /playbook:\d+:\d+.*nowhere/s],
    [
      'an unknown tool kind',
      playbook('x', [{ step: 'start', tool: { kind: 'teleport' } }]),
      /playbook:\d+:\d+.*teleport/s,
    ],
    [
      'a bad template',
      playbook('x', [{ step: 'start', tool: { kind: 'noop', input: { a: '{{ 1 + }}' } } }]),
      /playbook:\d+:\d+/,
    ],
    ['a bomb of aliases', bomb(), /alias/i],
  ];
  it.each(cases)('%s: 422 with the place', async (_, content, error) => {
    expectProblem(await register(content), 422, error);
  });

  function bomb(): string {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(', ')}]`,
    );
    return `l0: &l0 [x]\n${levels.join('\n')}\n`;
  }
});

describe('bodies', () => {
  const send = (text: string, headers: Record<string, string> = JSON_TYPE) =>
    ask(server.url, 'POST', '/api/execute', { text, headers });

  it('a 20 MB body is 413', async () => {
    const text = JSON.stringify({ content: 'x'.repeat(20_000_000) });
    const sent: Asking = { text, headers: JSON_TYPE };
    expectProblem(await ask(server.url, 'POST', '/api/catalog/register', sent), 413, /larger/);
  });

  it.each([
    ['JSON that ends in the middle', '{"path": "bad/one", "payl', /not JSON.*(line|position|column|end)/is],
    ['JSON with a comma too many', '{"path": "bad/one",}', /not JSON/],
    ['single quotes', "{'path': 1}", /not JSON/],
    ['NaN', '{"path": NaN}', /not JSON/],
    ['nesting 100,000 deep', '['.repeat(100_000), /not JSON.*(deep|nest)/is],
  ])('%s is 400 and says where', async (_, text, error) => {
    expectProblem(await send(text), 400, error);
  });

  it.each(['[]', '"text"', '1', 'null', ''])('%j instead of an object is 422', async (text) => {
    expectProblem(await send(text), 422, /body/i);
  });

  it('no content type is 415', async () => {
    expectProblem(await send('{}', {}), 415, /application\/json/);
  });

  it('another content type is 415', async () => {
    expectProblem(await send('path: x', { 'content-type': 'application/yaml' }), 415, /application\/json/);
  });

  it.each([
    '/api/events',
    '/api/events/batch',
    '/api/worker/report',
    '/api/commands/lease',
    '/api/worker/pool/register',
  ])('%s refuses a list', async (path) => {
    expectProblem(await post(server.url, path, []), 422, /body/i);
  });

  it('unknown fields are ignored', async () => {
    const { status } = await post(server.url, '/api/execute', {
      path: 'bad/one',
      execution_pool: 'nobody',
      colour: 'red',
    });
    expect(status).toBe(200);
  });
});

describe('paths and ids', () => {
  it('an unknown path is 404', async () => {
    expectProblem(await get(server.url, '/api/nothing/here'), 404, /GET \/api\/nothing\/here/);
  });

  it.each([
    ['GET', '/api/execute', 'POST'],
    ['DELETE', '/api/executions', 'GET'],
    ['PUT', '/api/executions/1/cancel', 'POST'],
    ['GET', '/api/worker/pool/deregister', 'POST, DELETE'],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const answer = await ask(server.url, method, path);
    expectProblem(answer, 405, new RegExp(method));
    expect(answer.headers.allow).toBe(allow);
  });

  it.each([
    '/api/executions/ID',
    '/api/executions/ID/status',
    '/api/executions/ID/events',
    '/api/executions/ID/result',
    '/api/executions/ID/explain',
    '/api/executions/ID/stream',
    '/api/executions/ID/cancellation-check',
    '/api/commands/ID',
  ])('%s with an id of 30 digits is 400', async (path) => {
    expectProblem(await get(server.url, path.replace('ID', '9'.repeat(30))), 400, /not an (execution|event) id/);
  });

  it.each(['abc', '-1', '1.5', '9223372036854775808', '1e5', '%20', '%00'])('execution id %s is 400', async (id) => {
    expectProblem(await get(server.url, `/api/executions/${id}`), 400, /id/);
  });

  it.each([
    ['/api/executions?limit=abc'],
    ['/api/executions?limit=0'],
    ['/api/executions?page=0'],
    ['/api/executions?page_size=1000'],
    ['/api/executions?catalog_id=x'],
  ])('%s is 400', async (path) => {
    expectProblem(await get(server.url, path), 400, /limit|page|catalog_id/);
  });

  it('an offset beyond what paging is for is 422', async () => {
    expectProblem(await get(server.url, '/api/executions?offset=5001'), 422, /5001/);
  });

  it.each([
    ['a NUL in a filter', '/api/executions?path=%00'],
    ['a NUL in an event type', '/api/executions/EXEC/events?event_type=%00'],
  ])('%s is a 4xx', async (_, path) => {
    const answer = await get(server.url, path.replace('EXEC', execution));
    expectProblem(answer, answer.status, /./);
    expect(answer.status).toBeLessThan(500);
  });

  it.each([
    ['a broken escape in the path', '/api/executions/%ZZ'],
    ['a path parameter of 5,000 characters', `/api/executions/${'9'.repeat(5_000)}`],
  ])('%s is a 4xx in the common shape', async (_, path) => {
    const answer = await get(server.url, path);
    expectProblem(answer, answer.status, /./);
    expect(answer.status).toBeLessThan(500);
  });

  it('bytes that are not HTTP are answered with 400 in the common shape', async () => {
    const text = await new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(server.url);
      const socket = connect(Number(port), hostname, () => socket.write('HELLO\r\n\r\n'));
      let received = '';
      socket.on('data', (chunk) => {
        received += String(chunk);
      });
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({ error: expect.any(String), status: 400 });
  });
});

describe('values that a column cannot hold are refused, not a 500', () => {
  it.each([
    ['/api/catalog/resource', { path: 'a\u0000b' }],
    ['/api/catalog/list', { path: '\u0000' }],
    ['/api/execute', { path: '\u0000' }],
    ['/api/execute', { path: 'bad/one', dedup: { key: '\u0000' } }],
    ['/api/worker/pool/register', { name: 'w\u0000' }],
    ['/api/worker/pool/register', { name: 'w', capacity: 1.5 }],
    ['/api/worker/pool/register', { name: 'w', capacity: 1e12 }],
    ['/api/worker/pool/heartbeat', { name: 'w\u0000' }],
    ['/api/events', { step: 's', event_type: 'x', created_at: '1' }],
    ['/api/events', { step: 's', event_type: 'x', created_at: '+275760-09-13T00:00:00Z' }],
  ])('%s %j', async (path, body) => {
    const answer = await post(server.url, path, { execution_id: execution, ...body });
    expectProblem(answer, answer.status, /./);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  });
});

describe('payloads survive', () => {
  const start = async (payload: string) => {
    const text = `{"path":"bad/one","execution_pool":"nobody","payload":${payload}}`;
    const answer = await ask(server.url, 'POST', '/api/execute', { text, headers: JSON_TYPE });
    expect(answer.status).toBe(200);
    return get(server.url, `/api/executions/${String(answer.body.execution_id)}`);
  };

  it('NUL and lone surrogates are stored as U+FFFD', async () => {
    const { body } = await start('{"nul":"a\\u0000b","half":"x\\ud800y","pair":"\\ud83d\\ude00"}');
    expect(body.workload).toEqual({ nul: 'a\uFFFDb', half: 'x\uFFFDy', pair: '\u{1F600}' });
  });

  it.each(['9007199254740993', '-9007199254740993', '320816801799737344', '123456789012345678901234567890'])(
    '%s comes back digit for digit',
    async (literal) => {
      const { text } = await start(`{"n":${literal},"list":[${literal}]}`);
      expect(text).toContain(`"workload":{"n":${literal},"list":[${literal}]}`);
    },
  );

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is an ordinary key', async (key) => {
    const { text } = await start(`{"${key}":{"polluted":true},"deep":{"${key}":1}}`);
    expect(text).toContain(`"${key}":{"polluted":true}`);
    expect(text).toContain(`"deep":{"${key}":1}`);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('a catalog entry may hold a NUL escape', async () => {
    const { status } = await post(server.url, '/api/catalog/register', {
      content: chain('bad/nul', 1, { workload: { text: 'a\u0000b' } }),
    });
    expect(status).toBe(200);
  });

  it('a worker may describe itself with a NUL', async () => {
    const { status } = await post(server.url, '/api/worker/pool/register', {
      name: 'nul',
      labels: { text: 'a\u0000b' },
    });
    expect(status).toBe(200);
  });
});

describe('step names that objects have already', () => {
  it.each(['__proto__', 'constructor', 'toString'])('a step may be called %s', async (name) => {
    const path = `bad/step-${name}`;
    await server.client.register(playbook(path, [{ step: 'start', next: [name] }, { step: name }]));
    const { execution_id } = await server.client.execute({ path });
    for (const step of ['start', name]) {
      const command = await leaseOne(server.client);
      expect(command.step).toBe(step);
      await server.client.report({ worker_id: 'w1', reports: [done(command, { from: step })] });
    }
    const { status, completed_steps } = await server.client.status(execution_id);
    expect({ status, completed_steps }).toEqual({ status: 'COMPLETED', completed_steps: ['start', name] });
    expect((await server.client.result(execution_id)).result).toEqual({ from: name });
  });
});
