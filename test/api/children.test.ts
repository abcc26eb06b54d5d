// Playbooks that start playbooks, through the real server and worker: the parent waits without a worker's slot.
import { expect, it } from 'vitest';
import type { NoetlClient } from '../../packages/client/src/index.js';
import { ended, playbookText as playbook, run } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';

const DOUBLE = playbook(
  'family/double',
  `
  - step: start
    tool: { kind: python, input: { n: "{{ workload.n }}" }, code: "result = {'n': n * 2}" }
`,
  'workload: { n: 1 }',
);

it('the data of a child is the data of the step that started it, and no slot is held for it', async () => {
  const { client } = await startTestServer();
  startTestWorker(client, { concurrency: 1 });
  await client.register(DOUBLE);
  await client.register(
    playbook(
      'family/parent',
      `
  - step: start
    tool: { kind: playbook, path: family/double, return_step: start, input: { n: 21 } }
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: noop, result: "{{ start.n }}" }
`,
    ),
  );
  const id = await run(client, 'family/parent');
  const result = await client.result(id);
  expect(result).toMatchObject({ status: 'COMPLETED', result: 42, steps: { start: { status: 'completed' } } });
});

it('children of a parallel loop run at once, and their data comes out in order', async () => {
  const { client } = await startTestServer();
  startTestWorker(client, { concurrency: 2 });
  await client.register(DOUBLE);
  await client.register(
    playbook(
      'family/many',
      `
  - step: start
    loop: { in: [1, 2, 3, 4, 5], iterator: n, spec: { mode: parallel, max_in_flight: 3 } }
    tool: { kind: playbook, path: family/double, return_result: true, input: { n: "{{ n }}" } }
`,
    ),
  );
  const result = await client.result(await run(client, 'family/many'));
  const { results } = result.result as { results: { data: { n: number } }[] };
  expect(results.map(({ data }) => data.n)).toEqual([2, 4, 6, 8, 10]);
});

it('a child that fails fails its step, which may handle it', async () => {
  const { client } = await startTestServer();
  startTestWorker(client);
  await client.register(playbook('family/broken', '  - step: start\n    tool: { kind: shell, command: exit 3 }\n'));
  await client.register(
    playbook(
      'family/careful',
      `
  - step: start
    tool: { kind: playbook, path: family/broken, return_result: true }
    next:
      arcs:
        - { step: rescue, when: "{{ output.error.code == 'CHILD_FAILED' }}" }
        - { step: end }
  - { step: rescue, tool: { kind: noop, result: saved }, next: { arcs: [] } }
  - { step: end, tool: { kind: noop } }
`,
    ),
  );
  const result = await client.result(await run(client, 'family/careful'));
  expect(result).toMatchObject({ status: 'COMPLETED', steps: { rescue: 'saved' } });
});

it('a child that does not exist fails its step with its name', async () => {
  const { client } = await startTestServer();
  await client.register(
    playbook('family/lost', '  - step: start\n    tool: { kind: playbook, path: family/nowhere }\n'),
  );
  const result = await client.result(await run(client, 'family/lost'));
  expect(result).toMatchObject({ status: 'FAILED' });
  expect(result.error?.message).toContain('family/nowhere');
});

it('a child that nobody waits for is started, and the step goes on', async () => {
  const { client } = await startTestServer();
  const parent = playbook('family/careless', '  - step: start\n    tool: { kind: playbook, path: family/double }\n');
  await client.register(DOUBLE);
  await client.register(parent);
  const id = await run(client, 'family/careless');
  const { result } = await client.result(id);
  expect(result).toMatchObject({ status: 'started', async: true, path: 'family/double' });
  const child = (result as { execution_id: string }).execution_id;
  expect(await client.status(child)).toMatchObject({ status: 'RUNNING', path: 'family/double' });
});

it('a cancel reaches the children, and their children', async () => {
  const { client } = await startTestServer();
  await client.register(playbook('family/leaf', '  - step: start\n    tool: { kind: wait, signal: never }\n'));
  const calls = (path: string) => `  - step: start\n    tool: { kind: playbook, path: ${path}, return_result: true }\n`;
  await client.register(playbook('family/middle', calls('family/leaf')));
  await client.register(playbook('family/top', calls('family/middle')));
  const { execution_id: top } = await client.execute({ path: 'family/top' });
  const middle = await childOf(client, top);
  const leaf = await childOf(client, middle);
  await client.cancel(top);
  expect(await Promise.all([top, middle, leaf].map((id) => ended(client, id)))).toEqual([
    'CANCELLED',
    'CANCELLED',
    'CANCELLED',
  ]);
});

it('a playbook that starts itself stops at the sixteenth level', async () => {
  const { client } = await startTestServer();
  await client.register(
    playbook(
      'family/endless',
      '  - step: start\n    tool: { kind: playbook, path: family/endless, return_result: true }\n',
    ),
  );
  const id = await run(client, 'family/endless');
  const result = await client.result(id);
  expect(result.status).toBe('FAILED');
  expect(result.error?.message).toContain('16 levels');
});

/** The execution that the parent's step waits for, once it has begun. */
async function childOf(client: NoetlClient, parent: string): Promise<string> {
  for await (const message of client.stream(parent)) {
    if (message.event !== 'event' || message.data.event_type !== 'command.issued') continue;
    const { park } = message.data.context as { park?: { executionId: string } };
    if (park === undefined) continue;
    while ((await client.listExecutions({ parent_execution_id: parent })).length === 0);
    return park.executionId;
  }
  throw new Error('no child was issued');
}
