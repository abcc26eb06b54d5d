// Two servers on one database, no leader between them: the row lock of the execution is all they share.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LeasedCommand } from '../../packages/client/src/index.js';
import { type EventRow, evolve, type Id, initialState } from '../../packages/core/src/index.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { get, post } from './support/ask.js';
import { chain, fan, playbook } from './support/playbooks.js';
import { done, leaseOne } from './support/reports.js';
import { sql } from './support/sql.js';

let a: TestServer;
let b: TestServer;
beforeAll(async () => {
  // At the same moment, on an empty database.
  const database = await ownDatabase();
  [a, b] = await Promise.all([startTestServer({ database }), startTestServer({ database })]);
  await a.client.register(chain('two/chain', 4));
  await b.client.register(fan('two/fan', 3));
  await a.client.register(
    playbook('two/join', [
      { step: 'start', next: ['left', 'right'] },
      { step: 'left', next: ['join'] },
      { step: 'right', next: ['join'] },
      { step: 'join' },
    ]),
  );
});

describe('starting together', () => {
  it('applies every migration once', async () => {
    const rows = await sql<{ name: string }>(a.database, 'SELECT name FROM noetl.migration ORDER BY name');
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
  });

  it('gives each its own machine id', async () => {
    const rows = await sql<{ machine_id: number }>(a.database, 'SELECT machine_id FROM noetl.machine_lease');
    expect(new Set(rows.map(({ machine_id }) => machine_id)).size).toBe(2);
  });
});

/** Small and repeatable; which server is asked must not matter, whatever the order. */
function chooser(seed: number): () => TestServer {
  const numbers = fc.sample(fc.integer({ min: 0, max: 1 }), { seed, numRuns: 4_000 });
  let next = 0;
  return () => (numbers[next++ % numbers.length] === 0 ? a : b);
}

describe('50 executions driven through both at random', () => {
  let executions: string[];
  const completions: string[] = [];

  beforeAll(async () => {
    const any = chooser(20_260_102);
    const paths = ['two/chain', 'two/fan', 'two/join'];
    executions = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, n) => (await any().client.execute({ path: String(paths[n % 3]) })).execution_id,
      ),
    );
    const open = new Set(executions);
    const worker = async (name: string) => {
      let commands: LeasedCommand[] = [];
      while (open.size > 0) {
        if (commands.length === 0) {
          ({ commands } = await any().client.lease({ worker_id: name, pools: ['shared'], max: 3, wait_ms: 300 }));
        }
        const reports = commands.map((command) => done(command));
        const answer = await any().client.report({ worker_id: name, reports, lease: { pools: ['shared'], max: 2 } });
        for (const { status, command_id } of answer.results) {
          expect(status).toBe('ok');
          completions.push(command_id);
        }
        const touched = new Set(reports.map(({ execution_id }) => execution_id));
        commands = answer.commands;
        for (const id of touched) {
          if ((await any().client.status(id)).completed) open.delete(id);
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, n) => worker(`roamer-${n}`)));
  });

  it('complete, all of them', async () => {
    const statuses = await Promise.all(executions.map(async (id) => (await b.client.status(id)).status));
    expect(new Set(statuses)).toEqual(new Set(['COMPLETED']));
  });

  it('do every command once', async () => {
    const rows = await sql<{ command_id: string }>(
      a.database,
      `SELECT command_id FROM noetl.event WHERE event_type = 'command.completed' AND execution_id = ANY ($1::bigint[])`,
      [executions],
    );
    expect(rows.map(({ command_id }) => command_id).sort()).toEqual([...completions].sort());
    expect(new Set(completions).size).toBe(completions.length);
  });

  it('have logs without a gap', async () => {
    const gaps = await sql(
      a.database,
      `SELECT execution_id FROM noetl.event GROUP BY execution_id
       HAVING min(stream_version) <> 1 OR max(stream_version) <> count(*) OR count(DISTINCT stream_version) <> count(*)`,
    );
    expect(gaps).toEqual([]);
  });

  it('have rows that equal the fold of their logs', async () => {
    for (const id of executions) {
      const { events } = await a.client.events(id, { order: 'asc', page_size: 500 });
      const state = initialState(id as Id);
      for (const event of events) evolve(state, event as unknown as EventRow);
      const [row] = await sql(
        a.database,
        'SELECT status, head_version::int AS head, last_event_id FROM noetl.execution WHERE execution_id = $1',
        [id],
      );
      expect(row).toEqual({ status: state.status, head: events.length, last_event_id: state.lastEventId });
    }
  });

  it('leave no command open', async () => {
    const rows = await sql(a.database, `SELECT status, count(*)::int AS n FROM noetl.command GROUP BY status`);
    expect(rows).toEqual([{ status: 'COMPLETED', n: completions.length }]);
  });
});

describe('what one server does, the other sees', () => {
  it('a playbook registered at one runs at the other', async () => {
    await a.client.register(chain('two/seen', 1));
    const { execution_id } = await b.client.execute({ path: 'two/seen', execution_pool: 'nobody' });
    expect((await a.client.status(execution_id)).status).toBe('RUNNING');
  });

  it('a command issued at one wakes a worker that waits at the other', async () => {
    const waiting = leaseOne(b.client, 'across', 10_000);
    const { execution_id } = await a.client.execute({ path: 'two/seen' });
    const command = await waiting;
    expect(command.execution_id).toBe(execution_id);
    await a.client.report({ worker_id: 'across', reports: [done(command)] });
  });

  it('an Idempotency-Key is one key for both', async () => {
    const execute = (server: TestServer) =>
      post(server.url, '/api/execute', { path: 'two/seen', execution_pool: 'nobody' }, { 'idempotency-key': 'both' });
    const answers = await Promise.all(Array.from({ length: 32 }, (_, n) => execute(n % 2 === 0 ? a : b)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.execution_id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.status === 'started')).toHaveLength(1);
  });

  it('versions of one path registered at both are gap-free', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? a : b).client.register(chain('two/race', n + 1))),
    );
    expect(answers.map(({ version }) => version).sort((x, y) => x - y)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
  });

  it('an event id sent to both at once is stored once', async () => {
    const { execution_id } = await a.client.execute({ path: 'two/seen', execution_pool: 'nobody' });
    const event = { execution_id, step: 'start', event_type: 'note.made', event_id: BigInt(execution_id) + 77n };
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => post((n % 2 === 0 ? a : b).url, '/api/events', event)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const rows = await sql(a.database, 'SELECT 1 FROM noetl.event WHERE execution_id = $1 AND event_type = $2', [
      execution_id,
      'note.made',
    ]);
    expect(rows).toHaveLength(1);
  });

  it('a claim that both grant at once goes to one worker', async () => {
    const { execution_id } = await a.client.execute({ path: 'two/seen', execution_pool: 'nobody' });
    const [issued] = (await a.client.events(execution_id, { event_type: 'command.issued' })).events;
    const claim = (server: TestServer, worker_id: string) =>
      post(server.url, `/api/commands/${String(issued?.event_id)}/claim`, { worker_id });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => claim(n % 2 === 0 ? a : b, `w${n}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
  });

  it('a stream at one shows what happens at the other', async () => {
    const { execution_id } = await a.client.execute({ path: 'two/seen', execution_pool: 'nobody' });
    const stream = get(b.url, `/api/executions/${execution_id}/stream`);
    await a.client.cancel(execution_id);
    expect((await stream).text).toContain('event: status\ndata: {"execution_id"');
  });
});

it('when one server closes, the other goes on with what it had begun', async () => {
  const c = await startTestServer({ database: a.database });
  const { execution_id } = await c.client.execute({ path: 'two/chain' });
  const first = await leaseOne(c.client);
  await c.close();
  const { commands, results } = await a.client.report({
    worker_id: 'w1',
    reports: [done(first)],
    lease: { pools: ['shared'], max: 1 },
  });
  expect(results[0]?.status).toBe('ok');
  const next = commands[0] ?? (await leaseOne(a.client));
  expect(next).toMatchObject({ execution_id, step: 'step_2' });
});
