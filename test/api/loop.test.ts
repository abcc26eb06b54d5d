// A loop through the real server and worker: its log says which step each event is about.
import { expect, it } from 'vitest';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';

it('items report under the name of their step, and their results come out in order', async () => {
  const { client } = await startTestServer();
  startTestWorker(client);
  await client.register(`
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: squares, path: loops/squares }
workflow:
  - step: start
    loop: { in: 5, iterator: n, spec: { mode: parallel, max_in_flight: 3 } }
    tool: { kind: python, code: "result = n * n" }
`);
  const { execution_id: id } = await client.execute({ path: 'loops/squares' });
  const names = new Set<string | null>();
  for await (const message of client.stream(id)) {
    if (message.event === 'event' && /^(command|call)/.test(message.data.event_type)) names.add(message.data.node_name);
  }
  expect([...names]).toEqual(['start']);
  expect(await client.result(id)).toMatchObject({ status: 'COMPLETED', result: { results: [0, 1, 4, 9, 16] } });
});
