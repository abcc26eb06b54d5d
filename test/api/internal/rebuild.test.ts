// Everything beside the log follows from it: after a busy time nothing has drifted, and what was damaged is found and restored.
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { rebuild as rebuildCommand } from '../../../packages/cli/src/commands/admin.js';
import { loadServerConfig, type RebuildReport, rebuildReadModel } from '../../../packages/server/src/index.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { startTestWorker } from '../../support/worker.js';
import { ask } from '../support/ask.js';
import { fan, playbook } from '../support/playbooks.js';
import { done, failed, leaseOne, workOff } from '../support/reports.js';
import { sql } from '../support/sql.js';
import { BEARER, internalPost, startInternalServer, startShardedServer } from './support.js';

let server: TestServer;
let ids: string[];

const run = (check: boolean, adopt = false): Promise<RebuildReport> =>
  rebuildReadModel(loadServerConfig({ DATABASE_URL: server.database.url }), { check, adopt });

/** Everything that can happen to an execution: it ends well, fails, is retried, loses its worker, is cancelled half-way, or still runs. */
async function busyTime(): Promise<string[]> {
  const { client } = server;
  await client.register(fan('busy/fan', 5));
  await client.register(
    playbook('busy/loop', [{ step: 'start', next: ['each'] }, { step: 'each' }], { workload: { items: [1, 2, 3] } }),
  );
  await client.register(
    playbook('busy/breaks', [{ step: 'start', tool: { kind: 'python', code: 'raise ValueError("no")' } }]),
  );
  const paths = ['busy/fan', 'busy/loop', 'busy/breaks'];
  const batch = await client.executeBatch(Array.from({ length: 45 }, (_, index) => ({ path: paths[index % 3] ?? '' })));
  const started = batch.results.map((result) => result.execution_id as string);
  const cancelled = started.filter((_, index) => index % 5 === 0);
  // By hand first: a failure, a command that is given back, a claim whose worker is never heard of again.
  const first = await leaseOne(client, 'by-hand');
  await client.report({ worker_id: 'by-hand', reports: [failed(first, 'no luck')] });
  await leaseOne(client, 'lost');
  const worker = startTestWorker(client, { concurrency: 8 });
  await Promise.all(cancelled.map((id) => client.cancel(id, { reason: 'enough' })));
  await sql(
    server.database,
    `UPDATE noetl.command SET lease_until = now() WHERE worker_id = 'lost' AND lease_until IS NOT NULL`,
  );
  for (const id of started) {
    while (!['COMPLETED', 'FAILED', 'CANCELLED'].includes((await client.status(id)).status)) {
      await new Promise((wake) => setTimeout(wake, 20));
    }
  }
  await worker.stop();
  const open = (await client.execute({ path: 'busy/fan' })).execution_id;
  await client.report({ worker_id: 'by-hand', reports: [done(await leaseOne(client, 'by-hand'))] });
  await internalPost(server, 'projection/advance', { execution_ids: [...started, open] });
  return [...started, open];
}

beforeAll(async () => {
  server = await startInternalServer({ env: { NOETL_COMMAND_CLAIM_LEASE_SECONDS: '30' } });
  ids = await busyTime();
}, 120_000);

describe('after a busy time with failures, cancels and lost workers', () => {
  it('nothing has drifted from the log', async () => {
    const report = await run(true);
    expect(report).toMatchObject({ drift: [], broken: [], executions: ids.length, snapshots: ids.length });
    expect(report.commands).toBeGreaterThan(ids.length);
    const [row] = await sql<{ statuses: string[] }>(
      server.database,
      'SELECT array_agg(DISTINCT status ORDER BY status) AS statuses FROM noetl.execution',
    );
    expect(row?.statuses).toEqual(['CANCELLED', 'COMPLETED', 'FAILED', 'RUNNING']);
  });
});

describe('what was damaged', () => {
  beforeEach(async () => {
    await run(false);
  });

  const damages: [string, string, string, string][] = [
    [
      'a wrong status',
      `UPDATE noetl.execution SET status = 'RUNNING', end_time = NULL WHERE execution_id = $1`,
      'execution',
      'status',
    ],
    [
      'a head that is behind',
      'UPDATE noetl.execution SET head_version = 1 WHERE execution_id = $1',
      'execution',
      'head_version',
    ],
    ['a missing execution', 'DELETE FROM noetl.execution WHERE execution_id = $1', 'execution', '*'],
    [
      'a command that never ended',
      `UPDATE noetl.command SET status = 'RUNNING', completed_at = NULL WHERE execution_id = $1`,
      'command',
      'status',
    ],
    [
      'a wrong claim token',
      'UPDATE noetl.command SET claim_token = 99 WHERE execution_id = $1',
      'command',
      'claim_token',
    ],
    [
      'a snapshot that was changed',
      `UPDATE noetl.projection_snapshot SET snapshot = jsonb_set(snapshot, '{status}', '"FAILED!"') WHERE aggregate_id = $1::text`,
      'projection_snapshot',
      'snapshot',
    ],
    [
      'a command that nobody issued',
      `INSERT INTO noetl.command (event_id, command_id, execution_id, catalog_id, step_name, pool) VALUES (7, 'x', $1, 1, 's', 'p')`,
      'command',
      '*',
    ],
  ];

  it.each(damages)('is found and restored: %s', async (_, statement, table, field) => {
    await sql(server.database, statement, [ids[1]]);
    const found = await run(true);
    expect(found.drift).toContainEqual(expect.objectContaining({ execution_id: ids[1], table, field }));
    const repaired = await run(false);
    expect(repaired.drift).toEqual(found.drift);
    expect((await run(true)).drift).toEqual([]);
  });

  it('is left alone by a check', async () => {
    await sql(server.database, 'UPDATE noetl.execution SET head_version = 1 WHERE execution_id = $1', [ids[2]]);
    await run(true);
    expect((await run(true)).drift).toHaveLength(1);
  });

  it('finished commands that retention took away are not missed', async () => {
    await sql(server.database, 'DELETE FROM noetl.command WHERE execution_id = $1', [ids[1]]);
    expect((await run(true)).drift).toEqual([]);
  });
});

describe('a log with a gap', () => {
  it('is named as broken, and nothing is made up for it', async () => {
    const id = (await server.client.execute({ path: 'busy/loop' })).execution_id;
    await workOff(server.client, 'by-hand');
    const [kept] = await sql(
      server.database,
      'SELECT * FROM noetl.event WHERE execution_id = $1 AND stream_version = 2',
      [id],
    );
    await sql(server.database, 'DELETE FROM noetl.event WHERE execution_id = $1 AND stream_version = 2', [id]);
    expect((await run(false)).broken).toMatchObject([{ execution_id: id }]);
    await sql(server.database, 'INSERT INTO noetl.event SELECT * FROM jsonb_populate_record(NULL::noetl.event, $1)', [
      kept,
    ]);
    expect(await run(true)).toMatchObject({ drift: [], broken: [] });
  });
});

describe('an open command whose row is lost', () => {
  it('is in the queue again, and the execution goes on to its end', async () => {
    const id = (await server.client.execute({ path: 'busy/loop' })).execution_id;
    const command = await leaseOne(server.client, 'by-hand');
    await server.client.report({ worker_id: 'by-hand', reports: [done(command)] });
    await sql(server.database, `DELETE FROM noetl.command WHERE execution_id = $1 AND status = 'PENDING'`, [id]);
    await run(false);
    await workOff(server.client, 'by-hand');
    expect((await server.client.status(id)).status).toBe('COMPLETED');
  });
});

describe('an execution that was brought here from a stream', () => {
  /** Started on another server, half done there, its rows projected here; that server is gone. */
  async function brought(path: string): Promise<string> {
    const there = await startTestServer();
    await there.client.register(fan(path, 2));
    const id = (await there.client.execute({ path })).execution_id;
    await there.client.report({ worker_id: 'there', reports: [done(await leaseOne(there.client, 'there'))] });
    // As text: ids must not pass through JavaScript numbers on their way.
    const rows = await sql<{ row: string }>(
      there.database,
      'SELECT to_jsonb(e)::text AS row FROM noetl.event e WHERE execution_id = $1 ORDER BY stream_version',
      [id],
    );
    const [entry] = await sql<Record<string, string>>(there.database, 'SELECT * FROM noetl.catalog');
    await there.close();
    const columns = ['catalog_id', 'path', 'version', 'kind', 'content', 'content_hash'];
    await sql(
      server.database,
      `INSERT INTO noetl.catalog (${columns.join(', ')}) VALUES ($1, $2, $3, $4, $5, $6)`,
      columns.map((column) => entry?.[column]),
    );
    const answer = await ask(server.url, 'POST', '/api/internal/events/project', {
      text: `{"events":[${rows.map(({ row }) => row).join(',')}]}`,
      headers: { ...BEARER, 'content-type': 'application/json' },
    });
    expect(answer.body).toEqual({ projected: rows.length, duplicates: 0 });
    return id;
  }

  it('is left alone: nobody here works for it', async () => {
    const id = await brought('moved/left');
    expect((await run(false)).drift).toEqual([]);
    await workOff(server.client, 'here');
    expect((await server.client.status(id)).status).toBe('RUNNING');
  });

  it('goes on here when it is adopted', async () => {
    const id = await brought('moved/adopted');
    await run(false, true);
    await workOff(server.client, 'here');
    expect((await server.client.status(id)).status).toBe('COMPLETED');
    expect((await run(true)).drift).toEqual([]);
  });

  it('takes no more rows as they are once it is adopted', async () => {
    const id = await brought('moved/driven');
    await run(false, true);
    const row = { event_id: '331000000000000777', execution_id: id, event_type: 'playbook.completed' };
    await internalPost(server, 'events/project', { events: [row] });
    expect((await server.client.status(id)).status).toBe('RUNNING');
    await workOff(server.client, 'here');
    expect((await server.client.status(id)).status).toBe('COMPLETED');
  });
});

describe('on several shards', () => {
  it('looks at all of them', async () => {
    const { server: sharded, shards } = await startShardedServer(2);
    await sharded.client.register(fan('sharded/fan', 2));
    await sharded.client.executeBatch(Array.from({ length: 12 }, () => ({ path: 'sharded/fan' })));
    await workOff(sharded.client);
    const report = await rebuildReadModel(loadServerConfig({ NOETL_SHARDS: shards }), { check: true });
    expect(report).toMatchObject({ executions: 12, drift: [], broken: [] });
  });
});

describe('noetl admin rebuild --check', () => {
  async function exitCode(check: boolean): Promise<number> {
    const before = process.env['DATABASE_URL'];
    process.env['DATABASE_URL'] = server.database.url;
    const silent = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockReturnValue(true));
    try {
      return await rebuildCommand({ check, execution: [], json: false, dataDir: '.noetl' });
    } finally {
      for (const spy of silent) spy.mockRestore();
      if (before === undefined) delete process.env['DATABASE_URL'];
      else process.env['DATABASE_URL'] = before;
    }
  }

  it('ends with 0 when everything follows from the log, and with 1 when something does not', async () => {
    await run(false);
    expect(await exitCode(true)).toBe(0);
    await sql(server.database, 'UPDATE noetl.execution SET head_version = 1 WHERE execution_id = $1', [ids[3]]);
    expect(await exitCode(true)).toBe(1);
    expect(await exitCode(false)).toBe(0);
    expect(await exitCode(true)).toBe(0);
  });
});
