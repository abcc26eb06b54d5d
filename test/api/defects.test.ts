// Mistakes of a control plane that only show with its database, over HTTP. The list of all of them is
// packages/core/src/engine/defects.test.ts.
import { beforeAll, describe, expect, it } from 'vitest';
import type { NoetlClient } from '../../packages/client/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { post } from './support/ask.js';
import { chain, playbook } from './support/playbooks.js';
import { done, failed, leaseOne } from './support/reports.js';
import { sql } from './support/sql.js';

/** The end of an execution that a worker of this file runs. */
async function ended(client: NoetlClient, path: string, payload = {}) {
  const { execution_id: id } = await client.execute({ path, payload });
  for await (const message of client.stream(id)) void message;
  return client.result(id);
}

describe('with a worker', () => {
  let client: NoetlClient;
  beforeAll(async () => {
    ({ client } = await startTestServer());
    startTestWorker(client);
  });

  it('a tool that answers with an error fails its step and its execution [B12]', async () => {
    await client.register(playbook('bad/exit', [{ step: 'start', tool: { kind: 'shell', command: 'exit 3' } }]));
    const result = await ended(client, 'bad/exit');
    expect({ status: result.status, step: result.error?.step }).toEqual({ status: 'FAILED', step: 'start' });
  });

  it('the policy of a single tool is asked about what the tool did [B13]', async () => {
    const rule = Object.fromEntries([
      ['when', "{{ output.status == 'error' and output.error.code == 'EXIT_3' }}"],
      ['then', { do: 'continue', set: { 'ctx.forgiven': '{{ output.data.exit_code }}' } }],
    ]);
    const tool = { kind: 'shell', command: 'exit 3', spec: { policy: { rules: [rule] } } };
    const after = { kind: 'python', input: { code_: '{{ ctx.forgiven }}' }, code: 'result = {"seen": code_}' };
    await client.register(
      playbook('policy/single', [
        { step: 'start', tool, next: ['after'] },
        { step: 'after', tool: after },
      ]),
    );
    expect(await ended(client, 'policy/single')).toMatchObject({ status: 'COMPLETED', result: { seen: 3 } });
  });

  it('text with braces passes through two steps and comes out as it went in [B25]', async () => {
    const hand = (from: string) => ({ kind: 'python', input: { text: from }, code: 'result = {"text": text}' });
    await client.register(
      playbook('render/once', [
        { step: 'start', tool: hand('{{ workload.text }}'), next: ['again'] },
        { step: 'again', tool: hand('{{ start.text }}') },
      ]),
    );
    const text = '{{ 1 + 1 }} {% raw %} {{{{ x }}}}';
    expect(await ended(client, 'render/once', { text })).toMatchObject({ status: 'COMPLETED', result: { text } });
  });

  it('code with doubled braces reaches its interpreter as it was written [B25]', async () => {
    const code = 'name = "Ada"\nresult = {"text": f"{{ name }} is {name}"}';
    await client.register(playbook('render/braces', [{ step: 'start', tool: { kind: 'python', code } }]));
    expect(await ended(client, 'render/braces')).toMatchObject({
      status: 'COMPLETED',
      result: { text: '{ name } is Ada' },
    });
  });
});

describe('an execution', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
    await server.client.register(chain('plane/two', 2));
  });
  const start = async () => (await server.client.execute({ path: 'plane/two' })).execution_id;

  it('ends when the failure is reported to a server that has never seen it [B15]', async () => {
    const id = await start();
    const command = await leaseOne(server.client);
    const other = await startTestServer({ database: server.database });
    await other.client.report({ worker_id: 'w1', reports: [failed(command, 'no luck')] });
    expect(await other.client.status(id)).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('no luck'),
    });
    await other.close();
  });

  it('ends when the failure comes in a batch, and its command cannot be claimed any more [B17]', async () => {
    const id = await start();
    const { events } = await server.client.events(id, { event_type: 'command.issued' });
    const issued = events[0]?.event_id;
    const claim = (worker_id: string) => post(server.url, `/api/commands/${issued}/claim`, { worker_id });
    await claim('a');
    const failure = { step: 'start', event_type: 'command.failed' };
    await post(server.url, '/api/events/batch', {
      execution_id: id,
      worker_id: 'a',
      events: [{ ...failure, payload: { command_id: `${id}:start:${issued}`, error: 'no luck' } }],
    });
    expect((await server.client.status(id)).status).toBe('FAILED');
    const { status, body } = await claim('b');
    expect({ status, error: body.error }).toEqual({ status: 409, error: 'Command already reached terminal state' });
  });

  it('has a report, what it leads to and the next command in one transaction [B20]', async () => {
    const id = await start();
    await server.client.report({ worker_id: 'w1', reports: [done(await leaseOne(server.client))] });
    const written = await sql<{ what: string; transaction: string }>(
      server.database,
      `SELECT event_type AS what, xmin::text AS transaction FROM noetl.event
       WHERE execution_id = $1 AND stream_version > 4
       UNION ALL SELECT 'command row', xmin::text FROM noetl.command WHERE execution_id = $1 AND step_name = 'step_2'
       UNION ALL SELECT 'execution row', xmin::text FROM noetl.execution WHERE execution_id = $1`,
      [id],
    );
    const whats = written.map(({ what }) => what);
    expect(whats).toEqual(expect.arrayContaining(['command.completed', 'step.enter', 'command.issued', 'command row']));
    expect(new Set(written.map(({ transaction }) => transaction)).size).toBe(1);
    await server.client.cancel(id);
  });

  it('whose first command cannot be built is over at once, instead of waiting for ever [B32]', async () => {
    const tool = { kind: 'noop', input: { n: '{{ 1 / workload.zero }}' } };
    await server.client.register(playbook('plane/unbuilt', [{ step: 'start', tool }]));
    const { execution_id } = await server.client.execute({ path: 'plane/unbuilt', payload: { zero: 0 } });
    expect(await server.client.status(execution_id)).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('division by zero'),
    });
  });

  it('has command rows that follow its log, step by step [B33]', async () => {
    const id = await start();
    const rows = async () => {
      const found = await sql<{ step: string; status: string }>(
        server.database,
        'SELECT step_name AS step, status FROM noetl.command WHERE execution_id = $1 ORDER BY event_id',
        [id],
      );
      return found.map(({ step, status }) => `${step} ${status}`);
    };
    const seen = [await rows()];
    const command = await leaseOne(server.client);
    seen.push(await rows());
    await server.client.report({ worker_id: 'w1', reports: [done(command)] });
    seen.push(await rows());
    await server.client.report({ worker_id: 'w1', reports: [failed(await leaseOne(server.client), 'no luck')] });
    seen.push(await rows());
    expect(seen).toEqual([
      ['start PENDING'],
      ['start CLAIMED'],
      ['start COMPLETED', 'step_2 PENDING'],
      ['start COMPLETED', 'step_2 FAILED'],
    ]);
  });
});

describe('a worker that died while no server was up', () => {
  it('loses its command to the next one, and the log says where that came from [B22]', async () => {
    const env = { NOETL_COMMAND_CLAIM_LEASE_SECONDS: '1' };
    const first = await startTestServer({ env });
    await first.client.register(chain('plane/orphan', 1));
    const { execution_id: id } = await first.client.execute({ path: 'plane/orphan' });
    const lost = await leaseOne(first.client, 'lost');
    await first.close();
    const next = await startTestServer({ env, database: first.database });
    const again = await leaseOne(next.client, 'next', 20_000);
    expect(again).toMatchObject({ command_id: lost.command_id, attempt: 2 });
    const { events } = await next.client.events(id);
    const requeued = events.find(({ event_type }) => event_type === 'command.requeued');
    expect(events.map(({ event_id }) => event_id)).toContain(requeued?.parent_event_id);
  });
});
