// Secrets are masked where data leaves, never where it is stored: a later step still needs them.
import { beforeAll, describe, expect, it } from 'vitest';
import { MASK, redact } from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { get } from './support/ask.js';
import { chain, playbook } from './support/playbooks.js';
import { done, failed, leaseOne, workOff } from './support/reports.js';
import { sql } from './support/sql.js';

const SHA = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const DATA = { password: 'hunter2', token: 'tkn-secret-1', author: 'Ada', sha256: SHA, tokens_used: 12, note: 'plain' };
const SHOWN = { ...DATA, password: MASK, token: MASK };

let server: TestServer;
let execution: string;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('red/one', 1));
  execution = (await server.client.execute({ path: 'red/one', payload: { api_key: 'key-secret-2', region: 'eu' } }))
    .execution_id;
  await workOff(server.client, 'w1', () => DATA);
});

it('the mask is what core says', () => {
  expect(redact(DATA)).toEqual(SHOWN);
});

describe('what leaves', () => {
  it('the result is masked', async () => {
    const { result, steps } = await server.client.result(execution);
    expect({ result, steps }).toEqual({ result: SHOWN, steps: { start: SHOWN } });
  });

  it('the event is masked', async () => {
    const [event] = (await server.client.events(execution, { event_type: 'call.done' })).events;
    expect(event?.result).toMatchObject({ context: { result: { context: { data: SHOWN } } } });
  });

  it('the workload is masked', async () => {
    const { workload } = await server.client.execution(execution);
    expect(workload).toEqual({ api_key: MASK, region: 'eu' });
  });

  it.each(['', '/events', '/status', '/result', '/explain', '/stream'])('no secret is anywhere in %s', async (part) => {
    const { status, text } = await get(server.url, `/api/executions/${execution}${part}`);
    expect(status).toBe(200);
    for (const secret of ['hunter2', 'tkn-secret-1', 'key-secret-2']) expect(text).not.toContain(secret);
  });

  it('no secret is in the text of an error', async () => {
    const { execution_id } = await server.client.execute({ path: 'red/one' });
    const command = await leaseOne(server.client);
    const error = 'cannot reach postgres://app:hunter2@db:5432/x';
    await server.client.report({ worker_id: 'w1', reports: [failed(command, error)] });
    for (const part of ['', '/events', '/status', '/result', '/explain', '/stream']) {
      const { text } = await get(server.url, `/api/executions/${execution_id}${part}`);
      expect({ part, leaks: text.includes('hunter2') }).toEqual({ part, leaks: false });
    }
    const { text } = await get(server.url, '/api/executions?status=FAILED');
    expect(text).not.toContain('hunter2');
  });
});

describe('what stays', () => {
  it('the stored result is as it came', async () => {
    const [row] = await sql<{ data: unknown }>(
      server.database,
      `SELECT result #> '{context,result,context,data}' AS data FROM noetl.event WHERE execution_id = $1 AND event_type = 'call.done'`,
      [execution],
    );
    expect(row?.data).toEqual(DATA);
  });

  it('a later step gets the secret of an earlier one', async () => {
    await server.client.register(
      playbook('red/pass', [
        { step: 'start', next: ['use'] },
        { step: 'use', tool: { kind: 'noop', input: { password: '{{ start.password }}' } } },
      ]),
    );
    await server.client.execute({ path: 'red/pass' });
    const { commands } = await server.client.report({
      worker_id: 'w1',
      reports: [done(await leaseOne(server.client), DATA)],
      lease: { pools: ['shared'], max: 1 },
    });
    expect(JSON.stringify(commands[0]?.context)).toContain('hunter2');
    await server.client.report({ worker_id: 'w1', reports: commands.map((command) => done(command)) });
  });
});
