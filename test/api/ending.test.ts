// Ending an execution from outside: cancel, finalize, and how a worker learns of it.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { ask, get, post } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { workOff } from './support/reports.js';
import { sql } from './support/sql.js';

let server: TestServer;
/** Ran to its end. */
let ended: string;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('exe/two', 2));
  ended = (await server.client.execute({ path: 'exe/two' })).execution_id;
  await workOff(server.client);
});

/** Waits for a worker that does not exist. */
const start = async () => (await server.client.execute({ path: 'exe/two', execution_pool: 'nobody' })).execution_id;

describe('cancel', () => {
  it('ends the execution, its commands and its claims', async () => {
    const execution = await start();
    expect(await server.client.cancel(execution, { reason: 'enough' })).toEqual({
      execution_id: execution,
      status: 'cancelled',
      cancelled_executions: [execution],
      message: 'Execution cancellation requested',
    });
    expect(await server.client.status(execution)).toMatchObject({
      status: 'CANCELLED',
      is_cancelled: true,
      completed: true,
      error: 'enough',
    });
    const rows = await sql(server.database, 'SELECT status FROM noetl.command WHERE execution_id = $1', [execution]);
    expect(rows).toEqual([{ status: 'CANCELLED' }]);
  });

  it.each(['cancel', 'stop'])('%s needs no body', async (verb) => {
    const { status, body } = await ask(server.url, 'POST', `/api/executions/${await start()}/${verb}`);
    expect({ status, outcome: body.status }).toEqual({ status: 200, outcome: 'cancelled' });
  });

  it('reaches children of children', async () => {
    const parent = await start();
    const child = (
      await server.client.execute({ path: 'exe/two', execution_pool: 'nobody', parent_execution_id: parent })
    ).execution_id;
    const grandchild = (
      await server.client.execute({ path: 'exe/two', execution_pool: 'nobody', parent_execution_id: child })
    ).execution_id;
    const { cancelled_executions } = await server.client.cancel(parent);
    expect(cancelled_executions).toEqual([parent, child, grandchild]);
    expect((await server.client.status(grandchild)).status).toBe('CANCELLED');
  });

  it('leaves children alone with cascade false', async () => {
    const parent = await start();
    const child = (
      await server.client.execute({ path: 'exe/two', execution_pool: 'nobody', parent_execution_id: parent })
    ).execution_id;
    await server.client.cancel(parent, { cascade: false });
    expect((await server.client.status(child)).status).toBe('RUNNING');
  });

  it('of an ended execution changes nothing and says so', async () => {
    const before = (await server.client.execution(ended)).event_count;
    const { status, body } = await post(server.url, `/api/executions/${ended}/cancel`, {});
    expect({ status, outcome: body.status, list: body.cancelled_executions }).toEqual({
      status: 200,
      outcome: 'already_completed',
      list: [],
    });
    expect((await server.client.execution(ended)).event_count).toBe(before);
  });

  it('32 at once write one terminal event', async () => {
    const execution = await start();
    const answers = await Promise.all(Array.from({ length: 32 }, () => server.client.cancel(execution)));
    expect(answers.filter(({ status }) => status === 'cancelled')).toHaveLength(1);
    const { events } = await server.client.events(execution, { event_type: 'playbook_cancelled' });
    expect(events).toHaveLength(1);
  });

  it('of an unknown execution is 404', async () => {
    expect((await post(server.url, '/api/executions/12345/cancel', {})).status).toBe(404);
  });
});

describe('cancellation-check', () => {
  it('is no before and yes after', async () => {
    const execution = await start();
    const check = async () => (await get(server.url, `/api/executions/${execution}/cancellation-check`)).body;
    expect(await check()).toEqual({
      execution_id: execution,
      status: 'RUNNING',
      is_cancelled: false,
      cancelled: false,
      completed: false,
      failed: false,
    });
    await server.client.cancel(execution);
    expect(await check()).toMatchObject({ status: 'CANCELLED', is_cancelled: true, cancelled: true });
  });

  it('of an unknown id is no', async () => {
    const { status, body } = await get(server.url, '/api/executions/12345/cancellation-check');
    expect({ status, is_cancelled: body.is_cancelled }).toEqual({ status: 200, is_cancelled: false });
  });
});

describe('finalize', () => {
  it.each([
    [{ status: 'COMPLETED' }, 'COMPLETED', null],
    [{ status: 'FAILED', error: 'by hand' }, 'FAILED', 'by hand'],
    [{ reason: 'stuck' }, 'FAILED', 'stuck'],
  ])('%j', async (body, status, error) => {
    const execution = await start();
    const answer = await post(server.url, `/api/executions/${execution}/finalize`, body);
    expect(answer.body).toEqual({
      execution_id: execution,
      status,
      message: `Execution finalized with status: ${status}`,
    });
    expect(await server.client.status(execution)).toMatchObject({ status, error });
  });

  it('of an ended execution is refused silently', async () => {
    const { status, body } = await post(server.url, `/api/executions/${ended}/finalize`, { status: 'FAILED' });
    expect({ status, outcome: body.status }).toEqual({ status: 200, outcome: 'already_completed' });
    expect((await server.client.status(ended)).status).toBe('COMPLETED');
  });

  it.each([{ status: 'RUNNING' }, {}])('%j is 422', async (body) => {
    const { status } = await post(server.url, `/api/executions/${await start()}/finalize`, body);
    expect(status).toBe(422);
  });
});
