import { beforeAll, describe, expect, it } from 'vitest';
import type { LeasedCommand } from '../../packages/client/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { post } from './support/ask.js';
import { chain, fan } from './support/playbooks.js';
import { done, event, failed, leaseOne, reportOf } from './support/reports.js';
import { sql } from './support/sql.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('cmd/one', 1));
  await server.client.register(chain('cmd/two', 2));
});

const start = async (path: string) => (await server.client.execute({ path })).execution_id;
const report = async (command: LeasedCommand, worker_id = 'w1') =>
  (await server.client.report({ worker_id, reports: [done(command)] })).results[0];
const lease = async (worker_id: string, max: number, wait_ms = 0, pools = ['shared']) =>
  (await server.client.lease({ worker_id, pools, max, wait_ms })).commands;

describe('lease', () => {
  it('a waiting worker is woken by an execute', async () => {
    const waiting = lease('early', 1, 20_000);
    const execution = await start('cmd/one');
    const [command] = await waiting;
    expect(command).toMatchObject({
      execution_id: execution,
      command_id: expect.stringMatching(`^${execution}:start:\\d+$`),
      step: 'start',
      tool_kind: 'noop',
      attempt: 1,
      claim_token: 1,
      lease_ms: 60_000,
    });
    if (command !== undefined) await report(command, 'early');
    expect((await server.client.status(execution)).status).toBe('COMPLETED');
  });

  it('answers at once with nothing when nobody may wait', async () => {
    expect(await lease('idle', 1)).toEqual([]);
  });

  it('answers with nothing when the time is up', async () => {
    expect(await lease('patient', 1, 50)).toEqual([]);
  });

  it('gives only commands of the pools that were named', async () => {
    const { execution_id } = await server.client.execute({ path: 'cmd/one', execution_pool: 'gpu' });
    expect(await lease('cpu', 1)).toEqual([]);
    const [command] = await lease('gpu', 1, 0, ['gpu', 'shared']);
    expect(command?.execution_id).toBe(execution_id);
    if (command !== undefined) await report(command, 'gpu');
  });

  it('writes the claim to the log and the row before it answers', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client, 'claimer');
    const [row] = await sql(
      server.database,
      `SELECT status, worker_id, claim_token::int AS token, lease_until > now() AS leased FROM noetl.command WHERE execution_id = $1`,
      [execution],
    );
    expect(row).toEqual({ status: 'CLAIMED', worker_id: 'claimer', token: 1, leased: true });
    const { events } = await server.client.events(execution, { event_type: 'command.claimed' });
    expect(events).toMatchObject([{ worker_id: 'claimer', command_id: command.command_id, status: 'RUNNING' }]);
    await report(command, 'claimer');
  });

  it('20 workers never get the same of 200 commands', async () => {
    await server.client.executeBatch(Array.from({ length: 100 }, () => ({ path: 'cmd/two' })));
    const taken: string[] = [];
    const worker = async (name: string) => {
      for (;;) {
        const commands = await lease(name, 7, 500);
        if (commands.length === 0) return;
        taken.push(...commands.map(({ command_id }) => command_id));
        const { results } = await server.client.report({
          worker_id: name,
          reports: commands.map((command) => done(command)),
        });
        expect(results.every(({ status }) => status === 'ok')).toBe(true);
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => worker(`crowd-${n}`)));
    expect(taken).toHaveLength(200);
    expect(new Set(taken).size).toBe(200);
  });

  it('a worker that hangs up while it waits does not swallow the next command', async () => {
    const gone = new AbortController();
    const left = server.client.lease(
      { worker_id: 'gone', pools: ['shared'], max: 1, wait_ms: 20_000 },
      { signal: gone.signal },
    );
    gone.abort(new Error('hung up'));
    await expect(left).rejects.toThrow();
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client, 'stays');
    expect(command.execution_id).toBe(execution);
    await report(command, 'stays');
  });
});

describe('report', () => {
  it('answers with the next command of the same execution', async () => {
    const execution = await start('cmd/two');
    const first = await leaseOne(server.client);
    const { results, commands } = await server.client.report({
      worker_id: 'w1',
      reports: [done(first)],
      lease: { pools: ['shared'], max: 1 },
    });
    expect(results).toEqual([{ command_id: first.command_id, status: 'ok' }]);
    expect(commands).toMatchObject([{ execution_id: execution, step: 'step_2', claim_token: 1 }]);
    const [next] = commands;
    if (next !== undefined) await report(next);
    expect((await server.client.status(execution)).status).toBe('COMPLETED');
  });

  it('twice under one claim is recorded once', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    expect((await report(command))?.status).toBe('ok');
    const before = (await server.client.execution(execution)).event_count;
    expect((await report(command))?.status).toBe('duplicate');
    expect((await server.client.execution(execution)).event_count).toBe(before);
  });

  it('twice in one request is recorded once', async () => {
    await start('cmd/one');
    const command = await leaseOne(server.client);
    const { results } = await server.client.report({ worker_id: 'w1', reports: [done(command), done(command)] });
    expect(results.map(({ status }) => status).sort()).toEqual(['duplicate', 'ok']);
  });

  it('under another token is a stale claim and changes nothing', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    expect((await report({ ...command, claim_token: command.claim_token + 1 }))?.status).toBe('stale_claim');
    expect((await server.client.status(execution)).status).toBe('RUNNING');
    expect((await report(command))?.status).toBe('ok');
  });

  it('of a command that never was is unknown_command', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    const ghost = { ...command, command_id: `${execution}:start:1` };
    expect((await report(ghost))?.status).toBe('unknown_command');
    await report(command);
  });

  it('of a foreign execution is rejected', async () => {
    await start('cmd/one');
    const command = await leaseOne(server.client);
    expect((await report({ ...command, execution_id: '12345' }))?.status).toBe('rejected');
    await report(command);
  });

  it('of an event that is not a worker’s to report is rejected', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    const forged = reportOf(command, [
      { ...event('call.done', 'COMPLETED', {}), event_type: 'playbook.completed' as 'call.done' },
    ]);
    const { results } = await server.client.report({ worker_id: 'w1', reports: [forged] });
    expect(results[0]?.status).toBe('rejected');
    expect((await server.client.status(execution)).status).toBe('RUNNING');
    await report(command);
  });

  it('judges every report on its own', async () => {
    await server.client.executeBatch(Array.from({ length: 3 }, () => ({ path: 'cmd/one' })));
    const commands = await lease('w1', 3, 1_000);
    const [one, two, three] = commands as [LeasedCommand, LeasedCommand, LeasedCommand];
    const { results } = await server.client.report({
      worker_id: 'w1',
      reports: [done(one), done({ ...two, claim_token: 9 }), failed(three, 'boom')],
    });
    expect(results.map(({ status }) => status)).toEqual(['ok', 'stale_claim', 'ok']);
    await report(two);
  });

  it('after a cancel is already_terminal', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    await server.client.cancel(execution);
    expect((await report(command))?.status).toBe('already_terminal');
  });

  it.each([
    ['no list of events', { events: 'x' }, /reports\[0\].*events/],
    ['a token that is not a number', { claim_token: 'x' }, /claim_token/],
    [
      'a time that is none',
      { events: [{ event_type: 'call.done', status: 'S', created_at: 'x', context: {} }] },
      /created_at/,
    ],
  ])('%s is 422', async (_, change, error) => {
    const good = { execution_id: '1', command_id: '1:a:2', claim_token: 1, events: [event('call.done', 'S', {})] };
    const { status, body } = await post(server.url, '/api/worker/report', {
      worker_id: 'w',
      reports: [{ ...good, ...change }],
    });
    expect({ status, error: body.error }).toEqual({ status: 422, error: expect.stringMatching(error) });
  });
});

describe('release', () => {
  const release = (command: LeasedCommand, more: object = {}) =>
    post(server.url, `/api/commands/${command.event_id}/release`, {
      worker_id: 'w1',
      claim_token: command.claim_token,
      reason: 'drain',
      ...more,
    });

  it('gives the command to the next worker without counting the attempt', async () => {
    await start('cmd/one');
    const command = await leaseOne(server.client);
    expect((await release(command, { count_attempt: false })).status).toBe(200);
    const again = await leaseOne(server.client, 'w2');
    expect(again).toMatchObject({ command_id: command.command_id, attempt: 1, claim_token: 2 });
    expect((await report(command))?.status).toBe('stale_claim');
    expect((await report(again, 'w2'))?.status).toBe('ok');
  });

  it('counts the attempt unless told otherwise, and gives up after the last', async () => {
    const execution = await start('cmd/one');
    for (let attempt = 1; ; attempt++) {
      const command = await leaseOne(server.client);
      expect(command.attempt).toBe(attempt);
      await release(command);
      if (attempt === command.max_attempts) break;
    }
    expect((await server.client.status(execution)).status).toBe('FAILED');
  });

  it('is not offered again before its delay is over', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    await release(command, { delay_ms: 86_400_000 });
    expect(await lease('w2', 1, 1_500)).toEqual([]);
    await server.client.cancel(execution);
  });

  it('under another token is 409', async () => {
    const execution = await start('cmd/one');
    const command = await leaseOne(server.client);
    const { status, body } = await release({ ...command, claim_token: 5 });
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'stale_claim' });
    await server.client.cancel(execution);
  });

  it('of a finished command is 409', async () => {
    await start('cmd/one');
    const command = await leaseOne(server.client);
    await report(command);
    const { status, body } = await release(command);
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'already_terminal' });
  });

  it('of an unknown command is 404', async () => {
    const body = { worker_id: 'w', claim_token: 1, reason: 'x' };
    expect((await post(server.url, '/api/commands/12345/release', body)).status).toBe(404);
  });
});

it('branches of one execution can be done by different workers at the same time', async () => {
  await server.client.register(fan('cmd/fan', 10));
  const execution = await start('cmd/fan');
  await report(await leaseOne(server.client));
  const commands = (await Promise.all(Array.from({ length: 10 }, (_, n) => lease(`fan-${n}`, 1, 2_000)))).flat();
  expect(new Set(commands.map(({ step }) => step)).size).toBe(10);
  const results = await Promise.all(commands.map((command) => report(command)));
  expect(new Set(results.map((result) => result?.status))).toEqual(new Set(['ok']));
  expect((await server.client.status(execution)).status).toBe('COMPLETED');
});
