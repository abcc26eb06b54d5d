// Starting and stopping a server: what goes wrong is said, what was accepted is kept, what was held is let go.
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startTestServer } from '../support/server.js';
import { post } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { leaseOne } from './support/reports.js';
import { sql } from './support/sql.js';

describe('a start that fails', () => {
  it('because the port is taken says so', async () => {
    const taken = createServer();
    await new Promise<void>((ready) => taken.listen(0, '127.0.0.1', ready));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startTestServer({ flags: { port } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await new Promise((closed) => taken.close(closed));
  });

  it('because a migration was changed afterwards says which', async () => {
    const first = await startTestServer();
    await first.close();
    await sql(first.database, `UPDATE noetl.migration SET sha256 = 'other'`);
    await expect(startTestServer({ database: first.database })).rejects.toThrow(/migration \d{4}_\w+\.sql was changed/);
  });

  it('because the database is of a newer server says so', async () => {
    const first = await startTestServer();
    await first.close();
    await sql(first.database, `INSERT INTO noetl.migration (name, sha256) VALUES ('9999_future.sql', 'x')`);
    await expect(startTestServer({ database: first.database })).rejects.toThrow(/9999_future\.sql.*newer server/);
  });

  it('because the machine id is in use says so', async () => {
    const first = await startTestServer({ env: { NOETL_SERVER_MACHINE_ID: '7' } });
    const second = startTestServer({ database: first.database, env: { NOETL_SERVER_MACHINE_ID: '7' } });
    await expect(second).rejects.toThrow(/machine id/);
  });
});

describe('closing', () => {
  it('lets go of the machine id and of the sweeper', async () => {
    const server = await startTestServer();
    await server.close();
    expect(await sql(server.database, 'SELECT 1 FROM noetl.machine_lease')).toEqual([]);
    expect(await sql(server.database, 'SELECT 1 FROM noetl.leader_lease WHERE lease_until > now()')).toEqual([]);
  });

  it('twice is once', async () => {
    const server = await startTestServer();
    await Promise.all([server.close(), server.close()]);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });

  it('leaves no connection to the database', async () => {
    const server = await startTestServer();
    await server.close();
    const rows = await sql(
      server.database,
      `SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND application_name = 'noetl-server'`,
      [server.database.name],
    );
    expect(rows).toEqual([]);
  });

  it('ends long polls without taking a command with them', async () => {
    const server = await startTestServer();
    await server.client.register(chain('life/one', 1));
    const waiting = server.client.lease({ worker_id: 'w', pools: ['shared'], max: 1, wait_ms: 30_000 }).then(
      ({ commands }) => commands.length,
      () => 0,
    );
    await server.close();
    expect(await waiting).toBe(0);
  });

  it('keeps every start that was answered', async () => {
    const server = await startTestServer();
    await server.client.register(chain('life/many', 1));
    const starts = Array.from({ length: 200 }, () =>
      post(server.url, '/api/execute', { path: 'life/many' }).then(
        ({ status, body }) => (status === 200 ? [String(body.execution_id)] : []),
        () => [],
      ),
    );
    await starts[0];
    await server.close();
    const answered = (await Promise.all(starts)).flat().sort();
    const rows = await sql<{ id: string }>(server.database, 'SELECT execution_id AS id FROM noetl.execution');
    const stored = new Set(rows.map(({ id }) => id));
    expect(answered.length).toBeGreaterThan(0);
    expect(answered.filter((id) => !stored.has(id))).toEqual([]);
  });

  it('and starting again goes on where it was', async () => {
    const server = await startTestServer();
    await server.client.register(chain('life/again', 2));
    const { execution_id } = await server.client.execute({ path: 'life/again' });
    await server.close();
    const again = await startTestServer({ database: server.database });
    expect((await leaseOne(again.client)).execution_id).toBe(execution_id);
  });
});
