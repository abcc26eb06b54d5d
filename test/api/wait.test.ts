// Steps that wait: for time, for a signal, for a signal that may not come. No worker is needed for any of it.
import { expect, it } from 'vitest';
import { ended, happened, playbookText, run } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { ask, post } from './support/ask.js';

const APPROVAL = playbookText(
  'wait/approval',
  `
  - step: start
    tool: { kind: wait, signal: approve, timeout: "{{ workload.patience }}" }
    next:
      arcs:
        - { step: refused, when: "{{ event.name == 'call.error' and output.error.kind == 'timeout' }}" }
        - { step: paid, when: "{{ output.data.payload.approved }}" }
        - { step: refused }
  - { step: paid, tool: { kind: wait, for: 0 } }
  - { step: refused, tool: { kind: wait, for: 0 } }
`,
  'workload: { patience: 1h }',
);

it('a wait for time ends by itself', async () => {
  const { client } = await startTestServer();
  await client.register(playbookText('wait/brief', '  - step: start\n    tool: { kind: wait, for: 0.6 }'));
  const id = await run(client, 'wait/brief');
  expect(await client.result(id)).toMatchObject({ status: 'COMPLETED', steps: { start: {} } });
});

it('a signal ends the wait, and its payload is the data of the step', async () => {
  const { client } = await startTestServer();
  await client.register(APPROVAL);
  const { execution_id: id } = await client.execute({ path: 'wait/approval' });
  await happened(client, id, 'command.issued', 'start');
  expect((await client.explain(id)).waiting_for).toMatchObject([{ kind: 'signal', step: 'start' }]);
  expect(await client.signal(id, { name: 'approve', payload: { approved: true } })).toMatchObject({
    status: 'delivered',
    step: 'start',
  });
  expect(await ended(client, id)).toBe('COMPLETED');
  const { steps } = await client.result(id);
  expect(steps['start']).toMatchObject({ signal: 'approve', payload: { approved: true } });
  expect(Object.keys(steps)).toContain('paid');
});

it('a signal that does not come in time takes the branch of the time-out', async () => {
  const { client } = await startTestServer();
  await client.register(APPROVAL);
  const id = await run(client, 'wait/approval', { patience: 0.2 });
  const { status, steps } = await client.result(id);
  expect(status).toBe('COMPLETED');
  expect(Object.keys(steps)).toContain('refused');
});

it('a signal that comes early is kept for the step that waits later', async () => {
  const { client } = await startTestServer();
  await client.register(
    playbookText(
      'wait/later',
      `
  - { step: start, tool: { kind: wait, signal: go }, next: second }
  - { step: second, tool: { kind: wait, signal: early } }
`,
    ),
  );
  const { execution_id: id } = await client.execute({ path: 'wait/later' });
  expect(await client.signal(id, { name: 'early', payload: 7 })).toMatchObject({ status: 'kept' });
  await client.signal(id, { name: 'go' });
  expect(await ended(client, id)).toBe('COMPLETED');
  expect((await client.result(id)).result).toMatchObject({ payload: 7 });
});

it('the same signal sent twice with one key is one signal', async () => {
  const { client } = await startTestServer();
  await client.register(APPROVAL);
  const { execution_id: id } = await client.execute({ path: 'wait/approval' });
  const send = () => client.signal(id, { name: 'other' }, { idempotencyKey: 'k1' });
  expect((await send()).status).toBe('kept');
  expect((await send()).status).toBe('duplicate');
  const { events } = await client.events(id, { event_type: 'signal.received' });
  expect(events).toHaveLength(1);
});

it('refuses a signal for an execution that has ended, one without a name, and one for nobody', async () => {
  const { client, url } = await startTestServer();
  await client.register(playbookText('wait/none', '  - { step: start, tool: { kind: wait, for: 0 } }'));
  const id = await run(client, 'wait/none');
  expect((await post(url, `/api/executions/${id}/signal`, { name: 'x' })).status).toBe(409);
  expect((await post(url, `/api/executions/${id}/signal`, {})).status).toBe(422);
  expect((await ask(url, 'POST', '/api/executions/12345/signal', { json: { name: 'x' } })).status).toBe(404);
});

it('a wait that makes no sense fails its step and says why', async () => {
  const { client } = await startTestServer();
  await client.register(playbookText('wait/odd', '  - { step: start, tool: { kind: wait, for: "soon" } }'));
  const { error } = await client.result(await run(client, 'wait/odd'));
  expect(error?.message).toContain('`for` is not a duration: "soon"');
});

it('a step whose worker takes too long fails when its time is up, whatever the worker does', async () => {
  const { client } = await startTestServer();
  await client.register(playbookText('wait/slow', '  - { step: start, tool: { kind: noop }, spec: { timeout: 1 } }'));
  const { execution_id: id } = await client.execute({ path: 'wait/slow' });
  const { commands } = await client.lease({ worker_id: 'sleepy', pools: ['shared'], max: 1, wait_ms: 5_000 });
  expect(commands).toHaveLength(1);
  expect(await ended(client, id)).toBe('FAILED');
  expect((await client.result(id)).error).toMatchObject({ info: { kind: 'timeout', code: 'TIMEOUT' } });
}, 30_000);
