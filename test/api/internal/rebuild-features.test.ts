// Children, waits, signals, loops, retries, forks and time-outs: whatever an execution can do, its rows follow from its log.
import { beforeAll, describe, expect, it } from 'vitest';
import { loadServerConfig, rebuildReadModel } from '../../../packages/server/src/index.js';
import { ended, playbookText } from '../../support/run.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { startTestWorker } from '../../support/worker.js';

const PLAYBOOKS = [
  playbookText('kin/leaf', '  - { step: start, tool: { kind: python, code: "result = 1" } }'),
  playbookText('kin/broken', '  - { step: start, tool: { kind: python, code: "raise ValueError(1)" } }'),
  playbookText('kin/parent', '  - { step: start, tool: { kind: playbook, path: kin/leaf, return_result: true } }'),
  playbookText('kin/grieving', '  - { step: start, tool: { kind: playbook, path: kin/broken, return_result: true } }'),
  playbookText('kin/waits', '  - { step: start, tool: { kind: wait, signal: go } }'),
  playbookText('kin/times_out', '  - { step: start, tool: { kind: wait, signal: never, timeout: 1s } }'),
  playbookText(
    'kin/loop',
    `
  - step: start
    loop: { in: [1, 2, 3, 4], iterator: n, spec: { mode: parallel, max_in_flight: 2 } }
    tool: { kind: python, input: { n: "{{ n }}" }, code: "result = n if n != 3 else 1 / 0" }
`,
  ),
  playbookText(
    'kin/line',
    `
  - step: start
    tool: { kind: python, code: "result = 1" }
    next: middle
  - step: middle
    tool: { kind: shell, command: "test {{ workload.good }} = yes" }
    next: last
  - step: last
    tool: { kind: python, code: "result = 2" }
`,
    'workload: { good: "no" }',
  ),
];

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  for (const text of PLAYBOOKS) await server.client.register(text);
});

describe('after everything that an execution can do', () => {
  it('nothing has drifted from the log', async () => {
    const { client } = server;
    startTestWorker(client);
    const start = async (path: string) => (await client.execute({ path })).execution_id;
    const [signalled, cancelled, waiting] = [
      await start('kin/waits'),
      await start('kin/waits'),
      await start('kin/waits'),
    ];
    const family = await Promise.all(
      ['kin/parent', 'kin/grieving', 'kin/loop', 'kin/line', 'kin/times_out'].map(start),
    );
    await client.signal(signalled, { name: 'go', payload: { by: 'me' } });
    await client.cancel(cancelled, { reason: 'enough' });
    const failures = await Promise.all(family.map((id) => ended(client, id)));
    expect(failures).toEqual(['COMPLETED', 'FAILED', 'FAILED', 'FAILED', 'FAILED']);
    const line = family[3] ?? '';
    const fork = await client.rerun(line, { mode: 'from_failure', workload: { good: 'yes' } });
    const again = await client.rerun(line, { mode: 'same' });
    expect(await ended(client, fork.execution_id)).toBe('COMPLETED');
    expect(await ended(client, again.execution_id)).toBe('FAILED');
    expect(await ended(client, signalled)).toBe('COMPLETED');
    expect((await client.status(waiting)).status).toBe('RUNNING');

    const config = loadServerConfig({ DATABASE_URL: server.database.url });
    const report = await rebuildReadModel(config, { check: true });
    // The eight that were started, two children, the fork and the second run.
    expect(report).toMatchObject({ executions: 12, drift: [], broken: [] });
  });
});
