// One of three shards is away: its executions stand still, those of the others go on, and everything goes on when it is back.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NoetlClient } from '../../packages/client/src/index.js';
import { type Id, shardFor } from '../../packages/core/src/index.js';
import { type Door, openDoor } from '../chaos/door.js';
import { ended, happened, playbookText } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ownDatabases, shardSettings, throughPort } from '../support/shards.js';
import { startTestWorker } from '../support/worker.js';
import { get } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { done } from './support/reports.js';

const LOST = 2;
/** Enough to have several on every shard. */
const EXECUTIONS = 24;

let door: Door;
let server: TestServer;
let client: NoetlClient;

const isLost = (id: string) => shardFor(id as Id, 3) === LOST;

beforeAll(async () => {
  const databases = await ownDatabases(3);
  const urls = databases.map((database) => database.url);
  const lost = urls[LOST] as string;
  door = await openDoor(Number(new URL(lost).port));
  urls[LOST] = throughPort(lost, door.port);
  server = await startTestServer({ database: databases[0] as (typeof databases)[number], env: shardSettings(urls) });
  client = server.client;
  startTestWorker(client, { concurrency: EXECUTIONS });
});

afterAll(() => door.close());

async function startMany(path: string, payload: { file?: string } = {}, pool = 'shared'): Promise<string[]> {
  const request = { path, payload, execution_pool: pool };
  const started = await client.executeBatch(Array.from({ length: EXECUTIONS }, () => request));
  const ids = started.results.map((result) => String(result.execution_id));
  expect(new Set(ids.map((id) => shardFor(id as Id, 3))).size).toBe(3);
  return ids;
}

const allCompleted = async (ids: readonly string[]) => {
  const statuses = await Promise.all(ids.map((id) => ended(client, id)));
  expect(new Set(statuses)).toEqual(new Set(['COMPLETED']));
};

it('commands that one worker ends together are recorded where they can be, and the rest later', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'noetl-away-')), 'go');
  await client.register(
    playbookText(
      'away/held',
      `
  - step: start
    tool: { kind: shell, command: "until [ -e '{{ workload.file }}' ]; do sleep 0.1; done" }
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: noop }
`,
      'workload: { file: "" }',
    ),
  );
  const ids = await startMany('away/held', { file });
  await Promise.all(ids.map((id) => happened(client, id, 'command.started', 'start')));

  door.shut();
  writeFileSync(file, '');
  await allCompleted(ids.filter((id) => !isLost(id)));

  door.open();
  await allCompleted(ids.filter(isLost));
});

it('a worker that asks for work gets that of the others, and the rest when the shard is back', async () => {
  await client.register(chain('away/later', 1));
  const ids = await startMany('away/later', {}, 'later');
  const lease = (wait_ms: number) => client.lease({ worker_id: 'late', pools: ['later'], max: 100, wait_ms });

  door.shut();
  const { commands } = await lease(0);
  door.open();

  const executions = commands.map(({ execution_id }) => execution_id);
  expect(executions.sort()).toEqual(ids.filter((id) => !isLost(id)).sort());
  while (commands.length < ids.length) commands.push(...(await lease(10_000)).commands);
  expect(new Set(commands.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  await client.report({ worker_id: 'late', reports: commands.map((command) => done(command)) });
  await allCompleted(ids);
});

it('requests about a lost execution are answered 503, about the others as ever', async () => {
  await client.register(playbookText('away/waits', '  - { step: start, tool: { kind: wait, signal: go } }'));
  const ids = await startMany('away/waits');

  door.shut();
  const answers = await Promise.all(ids.map((id) => get(server.url, `/api/executions/${id}/status`)));
  const shards = await client.shards();
  const health = await get(server.url, '/api/health');
  door.open();

  expect(answers.map(({ status }) => status)).toEqual(ids.map((id) => (isLost(id) ? 503 : 200)));
  expect(shards.shards.map(({ reachable }) => reachable)).toEqual([true, true, false]);
  expect(health).toMatchObject({ status: 200, body: { status: 'degraded' } });
});

it('waits end and children start on the others; those that need the lost shard go on when it is back', async () => {
  await client.register(
    playbookText(
      'away/child',
      '  - { step: start, tool: { kind: noop, result: "{{ workload.n }}" } }',
      'workload: { n: 0 }',
    ),
  );
  await client.register(
    playbookText(
      'away/parent',
      `
  - step: start
    tool: { kind: wait, signal: go }
    next: { arcs: [{ step: children }] }
  - step: children
    loop: { in: [1, 2, 3, 4, 5, 6], iterator: n, spec: { mode: parallel, max_in_flight: 6 } }
    tool: { kind: playbook, path: away/child, return_result: true, input: { n: "{{ n }}" } }
`,
    ),
  );
  const ids = await startMany('away/parent');
  await Promise.all(ids.map((id) => happened(client, id, 'command.issued', 'start')));
  const alive = ids.filter((id) => !isLost(id));

  door.shut();
  await Promise.all(alive.map((id) => client.signal(id, { name: 'go' })));
  // Of so many children some live on the shards that are left.
  await Promise.any(alive.map((id) => happened(client, id, 'command.completed', 'children')));
  door.open();

  await Promise.all(ids.filter(isLost).map((id) => client.signal(id, { name: 'go' })));
  await allCompleted(ids);
});
