// One action on many executions, as a job of the server.
import { expect, it } from 'vitest';
import type { NoetlClient } from '../../packages/client/src/index.js';
import { ended, playbookText } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { ask, post } from './support/ask.js';

const WAITS = playbookText('bulk/waits', '  - { step: start, tool: { kind: wait, signal: go } }');
const BREAKS = playbookText(
  'bulk/breaks',
  '  - { step: start, tool: { kind: shell, command: "test {{ workload.good }} = yes" } }',
  'workload: { good: "no" }',
);

async function startMany(client: NoetlClient, path: string, count: number): Promise<string[]> {
  const { results } = await client.executeBatch(Array.from({ length: count }, () => ({ path })));
  return results.map((result) => ('execution_id' in result ? String(result.execution_id) : ''));
}

async function finished(url: string, id: unknown) {
  for (;;) {
    const { body } = await ask(url, 'GET', `/api/operations/${String(id)}`);
    if (body['status'] !== 'RUNNING') return body;
  }
}

it('cancels everything that matches, and tells how far it is', async () => {
  const { client, url } = await startTestServer();
  await client.register(WAITS);
  const ids = await startMany(client, 'bulk/waits', 120);
  const made = await post(url, '/api/operations', { action: 'cancel', filter: { path: 'bulk/*' }, reason: 'spring' });
  expect(made).toMatchObject({ status: 202, body: { action: 'cancel', status: 'RUNNING', total: 120 } });
  expect(await finished(url, made.body['operation_id'])).toMatchObject({
    status: 'COMPLETED',
    done: 120,
    failed: 0,
    progress: 100,
  });
  const statuses = await Promise.all(ids.map(async (id) => (await client.status(id)).status));
  expect(new Set(statuses)).toEqual(new Set(['CANCELLED']));
});

it('repairs what failed, each once, also when two servers share the work', async () => {
  const first = await startTestServer();
  const second = await startTestServer({ database: first.database });
  const { client, url } = first;
  startTestWorker(client);
  await client.register(BREAKS);
  const ids = await startMany(client, 'bulk/breaks', 60);
  await Promise.all(ids.map((id) => ended(client, id)));
  const made = await post(second.url, '/api/operations', {
    action: 'rerun',
    mode: 'from_failure',
    filter: { path: 'bulk/breaks' },
    workload: { good: 'yes' },
  });
  const done = await finished(url, made.body['operation_id']);
  expect(done).toMatchObject({ status: 'COMPLETED', done: 60 });
  const { body } = await ask(url, 'GET', `/api/operations/${String(done['operation_id'])}/items?limit=1000`);
  const items = body['items'] as { new_execution_id: string }[];
  const ends = await Promise.all(items.map((item) => ended(client, item.new_execution_id)));
  expect(new Set(ends)).toEqual(new Set(['COMPLETED']));
  expect(await client.listExecutions({ path: 'bulk/breaks', limit: 200 })).toHaveLength(120);
});

it('an execution that cannot be repaired is reported, and does not stop the others', async () => {
  const { client, url } = await startTestServer();
  startTestWorker(client);
  await client.register(BREAKS);
  const broken = await startMany(client, 'bulk/breaks', 2);
  const { execution_id: good } = await client.execute({ path: 'bulk/breaks', payload: { good: 'yes' } });
  await Promise.all([...broken, good].map((id) => ended(client, id)));
  const made = await post(url, '/api/operations', {
    action: 'rerun',
    mode: 'from_failure',
    filter: { path: 'bulk/breaks', status: ['COMPLETED', 'FAILED'] },
  });
  expect(await finished(url, made.body['operation_id'])).toMatchObject({
    status: 'COMPLETED',
    done: 2,
    failed: 1,
    failures: [{ execution_id: good, error: expect.stringContaining('nothing in it failed') }],
  });
});

it('says how many it would be, and changes nothing', async () => {
  const { client, url } = await startTestServer();
  await client.register(WAITS);
  const [id] = await startMany(client, 'bulk/waits', 3);
  const { body } = await post(url, '/api/operations', {
    action: 'cancel',
    filter: { status: 'RUNNING' },
    dry_run: true,
  });
  expect(body).toEqual({ action: 'cancel', dry_run: true, total: 3 });
  expect((await client.status(id ?? '')).status).toBe('RUNNING');
});

it('refuses an operation on everything, a misspelt condition, and more than the limit', async () => {
  const { client, url } = await startTestServer();
  await client.register(WAITS);
  await startMany(client, 'bulk/waits', 3);
  const refused = async (body: object) => {
    const answer = await post(url, '/api/operations', body);
    return `${answer.status} ${String(answer.body['error'])}`;
  };
  expect(await refused({ action: 'cancel', filter: {} })).toMatch(/^422 .*at least one condition/);
  expect(await refused({ action: 'cancel', filter: { paht: 'x' } })).toMatch(/^422 .*unknown field 'paht'/);
  expect(await refused({ action: 'cancel', filter: { path: 'bulk/*' }, limit: 2 })).toMatch(/^422 more than 2/);
  expect(await refused({ action: 'explode', filter: { path: 'x' } })).toMatch(/^422 field 'action'/);
});
