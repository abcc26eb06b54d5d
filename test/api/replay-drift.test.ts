// Replay against the live rows, at the same version.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/index.js';
import { happened, playbookText, run } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { get } from './support/ask.js';
import { sql } from './support/sql.js';

let server: TestServer;
let id: string;

beforeAll(async () => {
  server = await startTestServer();
  startTestWorker(server.client);
  await server.client.register(
    playbookText(
      'drift/mixed',
      `
  - step: start
    loop: { in: [1, 0, 2], iterator: n, spec: { mode: parallel, on_error: continue } }
    tool: { kind: python, code: "result = 1 / n" }
    next: { arcs: [{ step: hold }] }
  - step: hold
    tool: { kind: wait, signal: go }`,
    ),
  );
});

beforeEach(async () => {
  ({ execution_id: id } = await server.client.execute({ path: 'drift/mixed' }));
  await happened(server.client, id, 'command.issued', 'hold');
});

async function drift(query: Record<string, string>): Promise<JsonObject> {
  const answer = await get(server.url, `/api/replay/drift?${new URLSearchParams(query)}`);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body;
}

describe('drift', () => {
  it('is none while an execution runs, nor after it has ended', async () => {
    expect(await drift({ execution_id: id })).toMatchObject({ outcome: 'matched', differences: [] });
    await server.client.signal(id, { name: 'go' });
    for await (const message of server.client.stream(id)) if (message.event === 'status') break;
    expect(await drift({ execution_id: id })).toMatchObject({
      outcome: 'matched',
      differences: [],
      surfaces: {
        execution: { compared: 2 },
        command: { outcome: 'matched', compared: 4 },
        read_model: { outcome: 'matched' },
      },
    });
  });

  it('of nothing is reported as a comparison of nothing', async () => {
    expect(await drift({ execution_id: '7' })).toMatchObject({
      outcome: 'empty',
      events: 0,
      surfaces: { execution: { outcome: 'empty', compared: 0 }, command: { outcome: 'empty' } },
    });
  });

  it('finds a status that the log does not give', async () => {
    await sql(server.database, `UPDATE noetl.execution SET status = 'FAILED' WHERE execution_id = $1`, [id]);
    const report = await drift({ execution_id: id });
    expect(report).toMatchObject({ outcome: 'differs', surfaces: { execution: { outcome: 'differs' } } });
    expect(report['differences']).toContainEqual({
      surface: 'execution',
      key: id,
      field: 'status',
      replayed: 'RUNNING',
      live: 'FAILED',
    });
  });

  it('finds a command that is elsewhere than its events say', async () => {
    await sql(
      server.database,
      `UPDATE noetl.command SET status = 'RUNNING' WHERE execution_id = $1 AND status = 'COMPLETED'`,
      [id],
    );
    expect(await drift({ execution_id: id })).toMatchObject({
      outcome: 'differs',
      surfaces: { command: { outcome: 'differs' } },
    });
  });

  it('finds an open command that is not in the queue', async () => {
    await sql(server.database, `DELETE FROM noetl.command WHERE execution_id = $1 AND status = 'WAITING'`, [id]);
    expect((await drift({ execution_id: id }))['differences']).toContainEqual(
      expect.objectContaining({ surface: 'command', field: '*', live: null }),
    );
  });

  it('is no drift when retention took finished commands away', async () => {
    await sql(server.database, 'DELETE FROM noetl.command WHERE execution_id = $1 AND completed_at IS NOT NULL', [id]);
    expect(await drift({ execution_id: id })).toMatchObject({ outcome: 'matched' });
  });
});

describe('drift of all executions', () => {
  it('comes in pages and names those that differ', async () => {
    const other = await startTestServer();
    startTestWorker(other.client);
    await other.client.register(playbookText('drift/plain', '  - step: start\n    tool: { kind: noop }'));
    const ids = [];
    for (let count = 0; count < 3; count++) ids.push(await run(other.client, 'drift/plain'));
    await sql(other.database, `UPDATE noetl.execution SET head_version = 99 WHERE execution_id = $1`, [ids[1]]);
    const first = await get(other.url, '/api/replay/drift?limit=2');
    expect(first.body).toMatchObject({
      checked: 2,
      matched: 1,
      differs: 1,
      drifted: [{ execution_id: ids[1] }],
      next: ids[1],
    });
    const rest = await get(other.url, `/api/replay/drift?limit=2&after=${ids[1]}`);
    expect(rest.body).toMatchObject({ checked: 1, matched: 1, next: null });
  });
});
