// What playbooks leave behind about the things they touch, over HTTP.
import { expect, it } from 'vitest';
import { playbookText, run } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { ask } from './support/ask.js';

const ORDER = playbookText(
  'objects/order',
  `
  - step: start
    tool: { kind: noop }
    emit: { type: order.created, object: { type: order, id: "{{ workload.id }}" }, state: { total: "{{ workload.total }}" } }
    next: pay
  - step: pay
    tool: { kind: noop }
    emit: { type: order.paid, object: { type: order, id: "{{ workload.id }}" }, patch: { paid: true }, status: PAID }
`,
  'workload: { id: A1, total: 10 }',
);

it('an object is the fold of what all executions have said about it', async () => {
  const { client, url } = await startTestServer();
  startTestWorker(client);
  await client.register(ORDER);
  const first = await run(client, 'objects/order');
  const second = await run(client, 'objects/order', { total: 12.5 });
  await run(client, 'objects/order', { id: 'B2', total: 1.0 });
  const { body } = await ask(url, 'GET', '/api/business-objects/order/A1');
  expect(body).toMatchObject({
    object_type: 'order',
    object_id: 'A1',
    status: 'PAID',
    event_count: 4,
    attributes: { total: 12.5, paid: true },
    has_more: false,
  });
  const events = body['events'] as { execution_id: string; event_type: string; step: string }[];
  expect(events.map(({ execution_id, event_type, step }) => [execution_id, event_type, step])).toEqual([
    [first, 'order.created', 'start'],
    [first, 'order.paid', 'pay'],
    [second, 'order.created', 'start'],
    [second, 'order.paid', 'pay'],
  ]);
  const list = await ask(url, 'GET', '/api/business-objects/order');
  expect(list.body).toMatchObject({ objects: [{ object_id: 'A1', event_count: 4 }, { object_id: 'B2' }] });
});

it('shows the object as it was at an event, and 404 for what nobody has spoken of', async () => {
  const { client, url } = await startTestServer();
  startTestWorker(client);
  await client.register(ORDER);
  await run(client, 'objects/order');
  const { body } = await ask(url, 'GET', '/api/business-objects/order/A1');
  const [created] = body['events'] as { event_id: string }[];
  const then = await ask(url, 'GET', `/api/business-objects/order/A1?at=${created?.event_id}`);
  expect(then.body).toMatchObject({ status: 'ACTIVE', attributes: { total: 10 }, event_count: 1 });
  expect((await ask(url, 'GET', '/api/business-objects/order/none')).status).toBe(404);
});
