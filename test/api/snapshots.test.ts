// Snapshots of states: a shortcut for folding a log, never the truth.
import { expect, it } from 'vitest';
import { ended, happened, playbookText, run } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { ask } from './support/ask.js';
import { sql } from './support/sql.js';

const LONG = playbookText(
  'snapshots/long',
  `
  - step: start
    loop: { in: 100, iterator: n, spec: { mode: parallel, max_in_flight: 20 } }
    tool: { kind: noop, result: "{{ n }}" }
    next: pause
  - { step: pause, tool: { kind: wait, signal: go }, next: last }
  - { step: last, tool: { kind: noop, result: "{{ start.results | sum }}" } }
`,
);

interface Stored {
  aggregate_id: string;
  stream_version: number;
}

const stored = (database: Parameters<typeof sql>[0]) =>
  sql<Stored>(
    database,
    `SELECT aggregate_id, (meta ->> 'stream_version')::int AS stream_version FROM noetl.projection_snapshot
     WHERE aggregate_type = 'orchestrator_workflow_state'`,
  );

it('an execution goes on from its snapshot after a restart, as from its log', async () => {
  const first = await startTestServer();
  startTestWorker(first.client);
  await first.client.register(LONG);
  const { execution_id: id } = await first.client.execute({ path: 'snapshots/long' });
  await happened(first.client, id, 'command.issued', 'pause');
  const before = await ask(first.url, 'GET', `/api/executions/${id}/result`);
  await first.close();
  const [snapshot] = await stored(first.database);
  expect(snapshot).toMatchObject({ aggregate_id: id });
  expect(snapshot?.stream_version).toBeGreaterThan(200);

  const second = await startTestServer({ database: first.database });
  startTestWorker(second.client);
  expect((await ask(second.url, 'GET', `/api/executions/${id}/result`)).body).toEqual(before.body);
  await second.client.signal(id, { name: 'go' });
  expect(await ended(second.client, id)).toBe('COMPLETED');
  expect((await second.client.result(id)).result).toBe(4950);
});

it('a broken snapshot is ignored and counted, and the log is folded instead', async () => {
  const first = await startTestServer();
  startTestWorker(first.client);
  await first.client.register(LONG);
  const { execution_id: id } = await first.client.execute({ path: 'snapshots/long' });
  await happened(first.client, id, 'command.issued', 'pause');
  await first.close();
  await sql(
    first.database,
    `UPDATE noetl.projection_snapshot SET snapshot = jsonb_set(snapshot, '{ctx}', '{"forged": true}')`,
  );

  const second = await startTestServer({ database: first.database });
  startTestWorker(second.client);
  await second.client.signal(id, { name: 'go' });
  expect(await ended(second.client, id)).toBe('COMPLETED');
  expect((await second.client.result(id)).result).toBe(4950);
  const { text } = await ask(second.url, 'GET', '/metrics');
  expect(text).toMatch(/noetl_snapshots_broken_total [1-9]/);
});

it('there is one at the end of every execution, at its last event', async () => {
  const { client, database, close } = await startTestServer();
  await client.register(playbookText('snapshots/short', '  - { step: start, tool: { kind: wait, for: 0 } }'));
  const id = await run(client, 'snapshots/short');
  const { pagination } = await client.events(id);
  await close();
  expect(await stored(database)).toEqual([{ aggregate_id: id, stream_version: pagination.total_events }]);
});
