// A step that runs as a container: its worker hands it over, and the cluster tells how it ended.
import { beforeAll, describe, expect, it } from 'vitest';
import type { LeasedCommand } from '../../../packages/client/src/index.js';
import type { JsonObject } from '../../../packages/core/src/index.js';
import type { TestServer } from '../../support/server.js';
import { ask } from '../support/ask.js';
import { playbook } from '../support/playbooks.js';
import { event, leaseOne, reportOf } from '../support/reports.js';
import { internalPost, startInternalServer } from './support.js';

let server: TestServer;
beforeAll(async () => {
  server = await startInternalServer();
  const after = {
    step: 'after',
    tool: { kind: 'noop', input: { code: '{{ start.exit_code }}', log: '{{ start.stdout_uri }}' } },
  };
  await server.client.register(playbook('jobs/one', [{ step: 'start', next: ['after'] }, after]));
  await server.client.register(
    [
      'apiVersion: noetl.io/v2',
      'kind: Playbook',
      'metadata: { name: many, path: jobs/many }',
      'workflow:',
      '  - step: start',
      '    loop: { in: [a, b, c], iterator: item, spec: { mode: parallel, max_in_flight: 3 } }',
      '    tool: { kind: noop, input: { item: "{{ item }}" } }',
    ].join('\n'),
  );
});

const ended = (more: JsonObject = {}) => ({
  state: 'succeeded',
  job_name: 'job-1',
  job_uid: 'uid-1',
  exit_code: 0,
  ...more,
});
const tell = (id: string, body: unknown = ended(), step = 'start') =>
  internalPost(server, `container-callback/${id}/${step}`, body);

async function started(path = 'jobs/one'): Promise<{ id: string; command: LeasedCommand }> {
  const { execution_id: id } = await server.client.execute({ path });
  return { id, command: await leaseOf(id) };
}

/** The next command of this execution; other tests leave some that nobody takes. */
async function leaseOf(id: string): Promise<LeasedCommand> {
  for (;;) {
    const command = await leaseOne(server.client);
    if (command.execution_id === id) return command;
  }
}

function handOver(command: LeasedCommand, job: JsonObject = {}): Promise<unknown> {
  const waiting = { command_id: command.command_id, status: 'success', pending_callback: true, ...job };
  return server.client.report({
    worker_id: 'w1',
    reports: [reportOf(command, [event('command.completed', 'success', waiting)])],
  });
}

async function waiting(): Promise<string> {
  const { id, command } = await started();
  await handOver(command);
  return id;
}

/** Oldest first. */
const eventsOf = async (id: string) =>
  (await server.client.events(id, { page: 1, page_size: 500 })).events.toReversed();
const typesOf = async (id: string) => (await eventsOf(id)).map(({ event_type }) => event_type);
const calls = async (id: string) => (await eventsOf(id)).filter(({ event_type }) => event_type.startsWith('call.'));

describe('the end of a container', () => {
  it('lets its step go on', async () => {
    const id = await waiting();
    const { status, body } = await tell(id);
    expect({ status, body }).toEqual({
      status: 202,
      body: { status: 'accepted_in_flight', event_id: expect.stringMatching(/^\d+$/) },
    });
    expect((await leaseOf(id)).step).toBe('after');
  });

  it('is the data of its step', async () => {
    const id = await waiting();
    const { body } = await tell(id, ended({ stdout_uri: 's3://logs/1', completed_at: '2026-01-02T03:04:05Z' }));
    const [call] = await calls(id);
    expect(call).toMatchObject({
      event_id: body['event_id'],
      event_type: 'call.done',
      node_name: 'start',
      status: 'COMPLETED',
      result: {
        status: 'COMPLETED',
        context: { terminal_state: 'succeeded', job_uid: 'uid-1', stdout_uri: 's3://logs/1' },
      },
      meta: { node_type: 'container' },
    });
    expect((await leaseOf(id)).context.args).toEqual({ code: 0, log: 's3://logs/1' });
  });

  it.each([
    ['failed', 'the container failed (exit code 3): boom', 'process', false],
    ['failed_image_pull', 'could not be pulled', 'configuration', false],
    ['failed_oom', 'out of memory', 'process', false],
    ['failed_node_lost', 'was lost', 'connection', true],
    ['failed_timeout', 'did not end in time', 'timeout', true],
  ])('%s fails the step and says why', async (state, message, kind, retryable) => {
    const id = await waiting();
    await tell(id, ended({ state, exit_code: 3, reason: 'boom' }));
    const { status, error } = await server.client.status(id);
    expect({ status, error }).toEqual({ status: 'FAILED', error: expect.stringContaining(message) });
    const [call] = await calls(id);
    expect(call).toMatchObject({
      event_type: 'call.error',
      status: 'FAILED',
      result: { context: { terminal_state: state, error_info: { kind, retryable } } },
    });
  });

  it('told twice is one event, with the id of the first', async () => {
    const id = await waiting();
    const first = await tell(id);
    const before = await typesOf(id);
    const again = await tell(id, ended({ completed_at: '2026-01-02T03:04:05Z' }));
    expect({ status: again.status, body: again.body }).toEqual({ status: 202, body: first.body });
    expect(await typesOf(id)).toEqual(before);
  });

  it('told ten times at once is one event', async () => {
    const id = await waiting();
    const answers = await Promise.all(Array.from({ length: 10 }, () => tell(id)));
    expect(new Set(answers.map(({ body }) => body['event_id'])).size).toBe(1);
    expect(await calls(id)).toHaveLength(1);
    expect((await typesOf(id)).filter((type) => type === 'step.enter')).toHaveLength(2);
  });

  it('told to two servers at once is one event', async () => {
    const id = await waiting();
    const other = await startInternalServer({ database: server.database });
    const path = `container-callback/${id}/start`;
    const answers = await Promise.all([server, other, server, other].map((to) => internalPost(to, path, ended())));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body['event_id']}`)).size).toBe(1);
    expect(await calls(id)).toHaveLength(1);
    await other.close();
  });

  it('that nobody waits for goes on record and moves nothing', async () => {
    const id = await waiting();
    await tell(id);
    const { status } = await tell(id, ended({ state: 'failed_node_lost' }));
    expect(status).toBe(202);
    expect((await server.client.status(id)).status).toBe('RUNNING');
    expect((await calls(id)).map(({ event_type }) => event_type)).toEqual(['call.done', 'call.error']);
  });

  it('after a cancel is taken and moves nothing', async () => {
    const id = await waiting();
    await server.client.cancel(id);
    expect((await tell(id)).status).toBe(202);
    expect((await server.client.status(id)).status).toBe('CANCELLED');
  });

  it('before its worker has handed it over is to be told again', async () => {
    const { id, command } = await started();
    const early = await tell(id);
    expect([early.status, early.headers['retry-after']]).toEqual([503, '1']);
    await handOver(command);
    expect((await tell(id)).status).toBe(202);
    expect((await leaseOf(id)).step).toBe('after');
  });

  it('of an execution that does not exist is stale', async () => {
    const { status, body } = await tell('331000000000000777');
    expect({ status, body }).toEqual({ status: 202, body: { status: 'accepted_stale' } });
  });
});

describe('the items of a loop that wait side by side', () => {
  async function waitingLoop() {
    const { execution_id: id } = await server.client.execute({ path: 'jobs/many' });
    const commands: LeasedCommand[] = [];
    for (let n = 1; n <= 3; n++) {
      const command = await leaseOf(id);
      commands.push(command);
      await handOver(command, { job_name: `job-${n}`, job_uid: `uid-${n}` });
    }
    return { id, commands };
  }
  const toldOf = async (id: string) => (await calls(id)).map((call) => call['command_id']);

  it('are told apart by the job that was named when they were handed over', async () => {
    const { id, commands } = await waitingLoop();
    await tell(id, ended({ job_name: 'job-2', job_uid: 'uid-2' }));
    await tell(id, ended({ job_name: 'job-3', job_uid: null }));
    expect(await toldOf(id)).toEqual([commands[1]?.command_id, commands[2]?.command_id]);
  });

  it('are told apart by their command', async () => {
    const { id, commands } = await waitingLoop();
    const command_id = commands[2]?.command_id ?? '';
    await tell(id, ended({ job_name: 'unknown', job_uid: 'unknown', command_id }));
    expect(await toldOf(id)).toEqual([command_id]);
  });
});

describe('the request', () => {
  it.each([
    ['an id that is none', 'x', 'start', ended(), 'Invalid execution_id'],
    ['a blank step', '331000000000000777', '%20', ended(), 'step must not be blank'],
    ['an unknown state', '331000000000000777', 'start', ended({ state: 'done' }), "'state' must be one of succeeded"],
    ['no job', '331000000000000777', 'start', ended({ job_name: '' }), "'job_name' must be"],
    ['an exit code that is no number', '331000000000000777', 'start', ended({ exit_code: 'x' }), "'exit_code' must be"],
    ['no object', '331000000000000777', 'start', [], 'must be a JSON object'],
  ])('with %s is 422', async (_, id, step, body, error) => {
    const answer = await tell(id, body, step);
    expect([answer.status, answer.body['error']]).toEqual([422, expect.stringContaining(error)]);
  });

  it('without the internal token is 403', async () => {
    const path = '/api/internal/container-callback/331000000000000777/start';
    expect((await ask(server.url, 'POST', path, { json: ended() })).status).toBe(403);
  });
});
