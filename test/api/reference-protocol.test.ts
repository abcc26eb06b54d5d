// A reference worker: reads the command, claims it by event id, posts its events one by one. It knows no claim token.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { get, post } from './support/ask.js';
import { chain } from './support/playbooks.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('ref/two', 2, { workload: { n: 1 } }));
});

async function start(): Promise<{ execution: string; issued: string }> {
  const { execution_id: execution } = await server.client.execute({ path: 'ref/two' });
  return { execution, issued: await issuedFor(execution, 'start') };
}

async function issuedFor(execution: string, step: string): Promise<string> {
  const { events } = await server.client.events(execution, { event_type: 'command.issued' });
  const found = events.find(({ node_name }) => node_name === step);
  if (found === undefined) throw new Error(`no command for ${step}`);
  return found.event_id;
}

const claim = (issued: string, worker_id: string) => post(server.url, `/api/commands/${issued}/claim`, { worker_id });
const tell = (execution: string, event_type: string, payload: object, more: object = {}) =>
  post(server.url, '/api/events', { execution_id: BigInt(execution), step: 'start', event_type, payload, ...more });

describe('get', () => {
  it('shows the command without claiming it, ids as integer literals', async () => {
    const { execution, issued } = await start();
    const { status, text, body } = await get(server.url, `/api/commands/${issued}`);
    expect(status).toBe(200);
    expect(text).toContain(`"execution_id":${execution},`);
    expect(body).toMatchObject({
      node_id: 'start',
      node_name: 'start',
      action: 'noop',
      context: { tool_config: { kind: 'noop' }, args: {}, render_context: {} },
      meta: { command_id: `${execution}:start:${issued}`, attempt: 1, max_attempts: 3 },
    });
    expect((await claim(issued, 'a')).status).toBe(200);
  });

  it('of an unknown command is 404', async () => {
    const { status, body } = await get(server.url, '/api/commands/12345');
    expect({ status, error: body.error }).toEqual({ status: 404, error: 'command.issued event not found: 12345' });
  });
});

describe('claim', () => {
  it('answers with the command, ids as integer literals', async () => {
    const { execution, issued } = await start();
    const { status, text, body } = await claim(issued, 'a');
    expect(status).toBe(200);
    expect(text).toContain(`"status":"ok","event_id":${issued},"execution_id":${execution},`);
    expect(body).toMatchObject({ node_id: 'start', node_name: 'start', action: 'noop', meta: { attempt: 1 } });
  });

  it('by the same worker again is 200 and writes nothing', async () => {
    const { execution, issued } = await start();
    await claim(issued, 'a');
    expect((await claim(issued, 'a')).status).toBe(200);
    const { events } = await server.client.events(execution, { event_type: 'command.claimed' });
    expect(events).toHaveLength(1);
  });

  it('by another worker is 409, says who has it, and when to come back', async () => {
    const { issued } = await start();
    await claim(issued, 'a');
    const { status, body, headers } = await claim(issued, 'b');
    expect({ status, error: body.error, retry: headers['retry-after'] }).toEqual({
      status: 409,
      error: 'Command already claimed by a',
      retry: '2',
    });
  });

  it('of 20 workers at once one wins', async () => {
    const { issued } = await start();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => claim(issued, `w${n}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  });

  it('of a finished command is 409', async () => {
    const { execution, issued } = await start();
    const command_id = `${execution}:start:${issued}`;
    await claim(issued, 'a');
    await tell(execution, 'command.completed', { command_id });
    const { status, body } = await claim(issued, 'b');
    expect({ status, error: body.error }).toEqual({ status: 409, error: 'Command already reached terminal state' });
  });

  it('after a cancel is 409', async () => {
    const { execution, issued } = await start();
    await server.client.cancel(execution);
    const { status, body } = await claim(issued, 'a');
    expect({ status, error: body.error }).toEqual({ status: 409, error: 'Execution has been cancelled' });
  });

  it('of an unknown command is 404', async () => {
    expect((await claim('12345', 'a')).status).toBe(404);
  });

  it('without a worker is 422', async () => {
    const { issued } = await start();
    expect((await post(server.url, `/api/commands/${issued}/claim`, {})).status).toBe(422);
  });

  it('as an event: same worker 200 with id 0, another worker 409', async () => {
    const { execution, issued } = await start();
    const command_id = `${execution}:start:${issued}`;
    await claim(issued, 'a');
    const same = await tell(execution, 'command.claimed', { command_id }, { worker_id: 'a' });
    expect({ status: same.status, id: same.body.event_id }).toEqual({ status: 200, id: 0 });
    const other = await tell(execution, 'command.claimed', { command_id }, { worker_id: 'b' });
    expect({ status: other.status, error: other.body.error }).toEqual({
      status: 409,
      error: 'Command already claimed by a',
    });
  });
});

describe('events', () => {
  it('drive the execution to its end, with worker and command named in the payload only', async () => {
    const { execution, issued } = await start();
    for (const step of ['start', 'step_2']) {
      const event = step === 'start' ? issued : await issuedFor(execution, step);
      expect((await claim(event, 'reference')).status).toBe(200);
      const names = { worker_id: 'reference', command_id: `${execution}:${step}:${event}` };
      const result = { status: 'success', context: { status: 'success', data: { from: step } } };
      expect((await tell(execution, 'command.started', names, { step })).status).toBe(200);
      expect((await tell(execution, 'call.done', { ...names, result }, { step })).status).toBe(200);
      const { body } = await tell(
        execution,
        'command.completed',
        { ...names, status: 'success' },
        { step, status: 'success' },
      );
      expect(body.commands_generated).toBe(step === 'start' ? 1 : 0);
    }
    expect(await server.client.result(execution)).toMatchObject({
      status: 'COMPLETED',
      result: { from: 'step_2' },
      steps: { start: { from: 'start' } },
    });
  });

  it('command.failed ends it', async () => {
    const { execution, issued } = await start();
    await claim(issued, 'a');
    await tell(execution, 'command.failed', { command_id: `${execution}:start:${issued}`, error: 'no luck' });
    expect(await server.client.status(execution)).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('no luck'),
    });
  });

  it('in one batch drive it as well', async () => {
    const { execution, issued } = await start();
    await claim(issued, 'a');
    const command_id = `${execution}:start:${issued}`;
    const { body } = await post(server.url, '/api/events/batch', {
      execution_id: execution,
      worker_id: 'a',
      events: [
        { step: 'start', event_type: 'call.done', payload: { command_id, data: { ok: 1 } } },
        { step: 'start', event_type: 'command.completed', payload: { command_id } },
      ],
    });
    expect(body.commands_generated).toBe(1);
    expect((await server.client.status(execution)).current_step).toBe('step_2');
  });

  it('the end twice with one event id moves it once', async () => {
    const { execution, issued } = await start();
    await claim(issued, 'a');
    const payload = { command_id: `${execution}:start:${issued}` };
    const event_id = BigInt(issued) + 1_000_000_000n;
    const one = await tell(execution, 'command.completed', payload, { event_id });
    const two = await tell(execution, 'command.completed', payload, { event_id });
    expect([one.body.commands_generated, two.body.commands_generated]).toEqual([1, 0]);
    expect([one.status, two.status]).toEqual([200, 200]);
  });

  it('from a worker that does not hold the command are 409', async () => {
    const { execution, issued } = await start();
    await claim(issued, 'a');
    const payload = { command_id: `${execution}:start:${issued}` };
    const { status, body } = await tell(execution, 'command.completed', payload, { worker_id: 'b' });
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'stale_claim' });
  });

  it('from a worker that names itself in the payload only and does not hold the command are 409', async () => {
    const { execution, issued } = await start();
    await claim(issued, 'a');
    const payload = { command_id: `${execution}:start:${issued}`, worker_id: 'b' };
    expect((await tell(execution, 'command.completed', payload)).status).toBe(409);
  });

  it('after the end of the execution are 409', async () => {
    const { execution, issued } = await start();
    await server.client.cancel(execution);
    const payload = { command_id: `${execution}:start:${issued}` };
    expect((await tell(execution, 'command.completed', payload)).status).toBe(409);
  });

  it('a refused event is refused again when two are sent with one id at the same moment', async () => {
    const { execution, issued } = await start();
    await server.client.cancel(execution);
    const payload = { command_id: `${execution}:start:${issued}` };
    const event_id = BigInt(issued) + 1_000_000_001n;
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => tell(execution, 'command.completed', payload, { event_id })),
    );
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
  });
});
