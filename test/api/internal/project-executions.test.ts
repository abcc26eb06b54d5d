// Rows for executions that run here move nothing; rows of executions that ran elsewhere bring them here.
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { get } from '../support/ask.js';
import { chain } from '../support/playbooks.js';
import { done, leaseOne, workOff } from '../support/reports.js';
import { sql } from '../support/sql.js';
import { logsOf } from './logs.js';
import { internalPost, startInternalServer } from './support.js';

let server: TestServer;
const { fresh, start, logOf, headOf, project } = logsOf(() => server, 'pipeline/two');

beforeAll(async () => {
  server = await startInternalServer();
  await server.client.register(chain('pipeline/two', 2));
});

describe('projecting into an execution that runs here', () => {
  it('goes on where its log is, and the execution goes on as well', async () => {
    const id = await start();
    const before = await headOf(id);
    expect((await project([{ event_id: fresh(), execution_id: id, event_type: 'custom.note' }])).body).toEqual({
      projected: 1,
      duplicates: 0,
    });
    expect(await headOf(id)).toBe(before + 1);
    await workOff(server.client);
    expect((await server.client.status(id)).status).toBe('COMPLETED');
    const versions = (await logOf(id)).map((row) => Number(row.stream_version));
    expect(versions).toEqual(versions.map((_, index) => index + 1));
  });

  it.each(['playbook.completed', 'step.enter', 'command.completed', 'playbook_cancelled'])(
    'a row of type %s is stored and moves nothing',
    async (event_type) => {
      const id = await start();
      const command = await leaseOne(server.client);
      const row = {
        event_id: fresh(),
        execution_id: id,
        event_type,
        node_name: 'start',
        command_id: command.command_id,
      };
      expect((await project([row])).body).toEqual({ projected: 1, duplicates: 0 });
      expect((await logOf(id)).at(-1)).toMatchObject({ event_type, meta: { external: true } });
      await server.client.report({ worker_id: 'w1', reports: [done(command)] });
      await workOff(server.client);
      expect((await server.client.status(id)).status).toBe('COMPLETED');
    },
  );

  it('what it has written itself is a duplicate', async () => {
    const id = await start();
    const rows = await logOf(id);
    await workOff(server.client);
    expect((await project(rows.map((row) => ({ ...row, timestamp: row.created_at.toISOString() })))).body).toEqual({
      projected: 0,
      duplicates: rows.length,
    });
  });

  it('a bad row does not keep the others out', async () => {
    const id = await start();
    const answer = await project([
      { event_id: fresh(), execution_id: id, event_type: 'custom.one' },
      { event_id: fresh(), execution_id: id, created_at: '0000-01-01T00:00:00' },
      { event_id: fresh(), execution_id: id, event_type: 'custom.two' },
    ]);
    expect(answer.body).toMatchObject({ projected: 2, rejected: [{ index: 1 }] });
    await workOff(server.client);
  });
});

describe('projecting into executions while two servers drive them', () => {
  it('leaves every log without gaps, and every execution ends', async () => {
    const second = await startTestServer({ database: server.database });
    const servers = [server, second];
    const ids = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const { client } = servers[index % 2] as TestServer;
        return (await client.execute({ path: 'pipeline/two' })).execution_id;
      }),
    );
    const noise = servers.map(async (target) => {
      for (let round = 0; round < 10; round++) {
        const events = ids.map((id) => ({ event_id: fresh(), execution_id: id, event_type: 'custom.note' }));
        const answer = await internalPost(target, 'events/project', { events });
        expect(answer.body).toEqual({ projected: ids.length, duplicates: 0 });
      }
    });
    await Promise.all([...noise, ...servers.map((target, index) => workOff(target.client, `w${index}`))]);
    // What one of them had no more to do with when the other issued it.
    await workOff(server.client);
    for (const id of ids) {
      const rows = await logOf(id);
      expect(rows.map((row) => Number(row.stream_version))).toEqual(rows.map((_, index) => index + 1));
      expect(await headOf(id)).toBe(rows.length);
      expect(rows.filter((row) => row.event_type === 'custom.note')).toHaveLength(20);
      expect((await server.client.status(id)).status).toBe('COMPLETED');
    }
    await second.close();
  });
});

describe('projecting an execution that ran elsewhere', () => {
  /** The log of a finished execution, under another execution id, as a stream would bring it. */
  async function foreignLog(): Promise<{ id: string; foreign: bigint; rows: JsonObject[] }> {
    const id = await start();
    await workOff(server.client);
    const foreign = fresh();
    const rows = (await logOf(id)).map((row) => {
      const { stream_version: _version, tx_id: _tx, ingest_time: _time, created_at, ...rest } = row;
      return { ...rest, execution_id: foreign, timestamp: created_at.toISOString() } as unknown as JsonObject;
    });
    return { id, foreign, rows };
  }

  it('lists it like any other, with how it ended', async () => {
    const { id, foreign, rows } = await foreignLog();
    await project(rows);
    const [original, imported] = await Promise.all([
      get(server.url, `/api/executions/${id}/status`),
      get(server.url, `/api/executions/${foreign}/status`),
    ]);
    expect(imported.status).toBe(200);
    expect(imported.body.status).toBe(original.body.status);
    expect((await get(server.url, `/api/executions/${foreign}/events`)).body.pagination).toMatchObject({
      total_events: rows.length,
    });
  });

  it('has the very row that the append wrote where it ran', async () => {
    const { id, foreign, rows } = await foreignLog();
    await project(rows);
    const read = (execution: unknown) =>
      sql(
        server.database,
        `SELECT catalog_id, path, parent_execution_id, parent_event_id, status, head_version, last_event_id, last_event_type, last_node_name, error,
           start_time, end_time, routing - 'imported' AS routing FROM noetl.execution WHERE execution_id = $1`,
        [String(execution)],
      );
    expect(await read(foreign)).toEqual(await read(id));
  });

  it('in many batches is the same as in one', async () => {
    const { foreign, rows } = await foreignLog();
    for (const row of rows) await project([row]);
    const columns = 'path, status, head_version, last_event_type, last_node_name, start_time, end_time, error';
    const other = (await foreignLog()).rows.map((row, index) => ({ ...rows[index], execution_id: row.execution_id }));
    await project(other);
    const read = (execution: unknown) =>
      sql(server.database, `SELECT ${columns} FROM noetl.execution WHERE execution_id = $1`, [String(execution)]);
    expect(await read(foreign)).toEqual(await read(other[0]?.execution_id));
    expect(await read(foreign)).toMatchObject([{ status: 'COMPLETED', head_version: String(rows.length) }]);
  });

  it('leaves no execution behind for a log that is not one', async () => {
    const execution = fresh();
    await project([{ event_id: fresh(), execution_id: execution, event_type: 'subscription.registered' }]);
    expect((await get(server.url, `/api/executions/${execution}/status`)).status).toBe(404);
  });
});
