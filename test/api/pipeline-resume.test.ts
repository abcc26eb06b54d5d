// Lists of tools that wait, through the real server and worker: while they wait another command has the slot, and afterwards they go on
// where they were, in whichever worker.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { builtinTools } from '../../packages/worker/src/index.js';
import { playbookText } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { playbook } from './support/playbooks.js';
import { sql } from './support/sql.js';

/** What the target was asked for: `path key`, in order. */
let asked: string[] = [];
/** Paths that are answered with 503, each so many times. */
let failures: Record<string, number> = {};
let origin = '';
let target: Server;

beforeAll(async () => {
  target = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(`${path} ${String(request.headers['idempotency-key']).split(':').slice(3).join(':')}`);
    const left = failures[path] ?? 0;
    failures[path] = left - 1;
    response
      .writeHead(left > 0 ? 503 : 200, { 'content-type': 'application/json' })
      // The tool hands the content over as `data` and as `body`: together they are larger than most requests may be.
      .end(JSON.stringify({ path, ...(path === '/large' ? { filler: 'x'.repeat(1_500_000) } : {}) }));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
});
afterAll(async () => {
  target.closeAllConnections();
  await new Promise((resolve) => target.close(resolve));
});
beforeEach(() => {
  asked = [];
  failures = {};
});

const SUSPENDING = { taskSequence: { suspendAfterMs: 0 }, playbook: { looksMs: [1], delaysMs: [50] } };
const oneSlot = (client: TestServer['client']) =>
  startTestWorker(client, { concurrency: 1, tools: builtinTools(SUSPENDING) });

/** Tried again after five minutes, which no test waits for. */
const http = (path: string) => ({
  kind: 'http',
  url: `${origin}${path}`,
  spec: {
    policy: {
      rules: [
        Object.fromEntries([
          ['when', '{{ output.error.retryable }}'],
          ['then', { do: 'retry', attempts: 4, backoff: 'constant', delay: 300 }],
        ]),
      ],
    },
  },
});

const LIST = (path: string) =>
  playbook(path, [
    {
      step: 'start',
      tool: [
        { first: { ...http('/first'), set: { 'ctx.seen': '{{ output.data.path }}' } } },
        { second: http('/second') },
        { last: { kind: 'noop', result: '{{ first.data.path }}+{{ second.data.path }}+{{ ctx.seen }}' } },
      ],
    },
  ]);

async function ended({ client }: TestServer, id: string): Promise<string> {
  for await (const message of client.stream(id)) if (message.event === 'status') return message.data.status;
  throw new Error('the stream ended without a status');
}

/** The `nth` time that a worker gives the command back. */
async function givenBack({ client }: TestServer, id: string, nth = 1): Promise<void> {
  let seen = 0;
  for await (const message of client.stream(id)) {
    if (message.event === 'event' && message.data.event_type === 'command.requeued') seen += 1;
    if (seen === nth) return;
  }
  throw new Error('the command was never given back');
}

/** The five minutes are over. */
async function delayIsOver({ database }: TestServer, id: string): Promise<void> {
  await sql(database, `UPDATE noetl.command SET available_at = now() WHERE execution_id = $1 AND status = 'PENDING'`, [
    id,
  ]);
}

async function typesOf({ client }: TestServer, id: string): Promise<string[]> {
  const { events } = await client.events(id, { page_size: 100 });
  return events.map((event) => event.event_type).filter((type) => type.startsWith('command.'));
}

it('a list that waits for its retry leaves the only slot to others, and then goes on where it was', async () => {
  const server = await startTestServer();
  const { client } = server;
  oneSlot(client);
  await client.register(LIST('waiting/list'));
  await client.register(playbook('waiting/other', [{ step: 'start' }]));
  failures = { '/second': 1 };

  const { execution_id: list } = await client.execute({ path: 'waiting/list' });
  await givenBack(server, list);
  const { execution_id: other } = await client.execute({ path: 'waiting/other' });
  expect(await ended(server, other)).toBe('COMPLETED');
  expect((await client.status(list)).status).toBe('RUNNING');

  await delayIsOver(server, list);
  expect(await ended(server, list)).toBe('COMPLETED');
  expect(asked).toEqual(['/first first', '/second second', '/second second']);
  const { result } = await client.result(list);
  expect(result).toMatchObject({ last: '/first+/second+/first' });
});

it('a list that was given back is told apart from one that ran twice: no attempt is used up', async () => {
  const server = await startTestServer();
  const { client } = server;
  oneSlot(client);
  await client.register(LIST('waiting/list'));
  failures = { '/first': 1, '/second': 1 };

  const { execution_id: list } = await client.execute({ path: 'waiting/list' });
  for (const nth of [1, 2]) {
    await givenBack(server, list, nth);
    await delayIsOver(server, list);
  }
  expect(await ended(server, list)).toBe('COMPLETED');
  expect((await typesOf(server, list)).filter((type) => type !== 'command.started').sort()).toEqual([
    'command.claimed',
    'command.claimed',
    'command.claimed',
    'command.completed',
    'command.issued',
    'command.requeued',
    'command.requeued',
  ]);
  const [row] = await sql<{ attempt: number }>(
    server.database,
    'SELECT attempt FROM noetl.command WHERE execution_id = $1',
    [list],
  );
  expect(row?.attempt).toBe(1);
});

it('when the worker that gave a list back is gone, another one goes on', async () => {
  const server = await startTestServer();
  const { client } = server;
  const gone = oneSlot(client);
  await client.register(LIST('waiting/list'));
  failures = { '/second': 2 };

  const { execution_id: list } = await client.execute({ path: 'waiting/list' });
  await givenBack(server, list);
  await gone.stop();
  oneSlot(client);
  await delayIsOver(server, list);
  await givenBack(server, list, 2);
  await delayIsOver(server, list);
  expect(await ended(server, list)).toBe('COMPLETED');
  expect(asked).toEqual(['/first first', '/second second', '/second second', '/second second']);
});

it('a list that has collected megabytes can wait like any other', async () => {
  const server = await startTestServer();
  const { client } = server;
  oneSlot(client);
  const tool = [{ large: http('/large') }, { second: http('/second') }, { last: { kind: 'noop', result: 'done' } }];
  await client.register(playbook('waiting/large', [{ step: 'start', tool }]));
  failures = { '/second': 1 };

  const { execution_id: list } = await client.execute({ path: 'waiting/large' });
  await givenBack(server, list);
  await delayIsOver(server, list);
  expect(await ended(server, list)).toBe('COMPLETED');
  expect(asked).toEqual(['/large large', '/second second', '/second second']);
});

it('a list that is cancelled while it waits runs nothing any more', async () => {
  const server = await startTestServer();
  const { client } = server;
  oneSlot(client);
  await client.register(LIST('waiting/list'));
  await client.register(playbook('waiting/other', [{ step: 'start' }]));
  failures = { '/first': 1 };

  const { execution_id: list } = await client.execute({ path: 'waiting/list' });
  await givenBack(server, list);
  await client.cancel(list);
  await delayIsOver(server, list);
  const { execution_id: other } = await client.execute({ path: 'waiting/other' });
  await ended(server, other);
  expect(asked).toEqual(['/first first']);
  expect((await client.status(list)).status).toBe('CANCELLED');
});

it('a child in a list gets the only slot while the list waits for it', async () => {
  const server = await startTestServer();
  const { client } = server;
  oneSlot(client);
  const double = { kind: 'python', input: { n: '{{ workload.n }}' }, code: "result = {'n': n * 2}" };
  await client.register(playbook('waiting/double', [{ step: 'start', tool: double }], { workload: { n: 1 } }));
  const tool = [
    { child: { kind: 'playbook', path: 'waiting/double', return_step: 'start', input: { n: 21 } } },
    { after: { kind: 'noop', result: '{{ child.n }} from {{ child.path }}' } },
  ];
  await client.register(playbook('waiting/parent', [{ step: 'start', tool }]));

  const { execution_id: parent } = await client.execute({ path: 'waiting/parent' });
  expect(await ended(server, parent)).toBe('COMPLETED');
  const { result } = await client.result(parent);
  expect(result).toMatchObject({ child: { status: 'completed', data: { n: 42 } }, after: '42 from waiting/double' });
  const children = await client.listExecutions({ path: 'waiting/double' });
  expect(children.map((child) => child.parent_execution_id)).toEqual([parent]);
});

it('a child that fails in a list fails its task, and a rule may forgive it', async () => {
  const server = await startTestServer();
  const { client } = server;
  oneSlot(client);
  await client.register(playbook('waiting/broken', [{ step: 'start', tool: { kind: 'shell', command: 'exit 3' } }]));
  const forgive = Object.fromEntries([
    ['when', "{{ output.error.code == 'CHILD_FAILED' }}"],
    ['then', { do: 'continue' }],
  ]);
  const child = {
    kind: 'playbook',
    path: 'waiting/broken',
    return_result: true,
    spec: { policy: { rules: [forgive] } },
  };
  const tool = [{ child }, { after: { kind: 'noop', result: 'saved' } }];
  await client.register(playbook('waiting/careful', [{ step: 'start', tool }]));

  const { execution_id: parent } = await client.execute({ path: 'waiting/careful' });
  expect(await ended(server, parent)).toBe('COMPLETED');
  expect((await client.result(parent)).result).toMatchObject({ child: { status: 'failed' }, after: 'saved' });
});

it('a worker that dies after it went on loses nothing: the next one goes on where the list was given back', async () => {
  const { client } = await startTestServer({ env: { NOETL_COMMAND_CLAIM_LEASE_SECONDS: '1' } });
  await client.register(playbookText('resume/lost', '  - { step: start, tool: [{ name: a, kind: noop }] }'));
  await client.execute({ path: 'resume/lost' });
  const lease = () => client.lease({ worker_id: 'w', pools: ['shared'], max: 1, wait_ms: 10_000 });
  const first = (await lease()).commands[0];
  const { event_id = '', claim_token = 0 } = first ?? {};
  await client.release(event_id, {
    worker_id: 'w',
    claim_token,
    reason: 'later',
    count_attempt: false,
    resume: { at: 2 },
  });
  expect((await lease()).commands[0]).toMatchObject({ event_id, resume: { at: 2 } });
  expect((await lease()).commands[0]).toMatchObject({ event_id, resume: { at: 2 }, attempt: 2 });
});
