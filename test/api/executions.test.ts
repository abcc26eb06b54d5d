import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { get } from './support/ask.js';
import { chain, fan } from './support/playbooks.js';
import { done, failed, leaseOne, workOff } from './support/reports.js';
import { sql } from './support/sql.js';

let server: TestServer;
/** Ran to its end. */
let ended: string;
/** Waits for a worker that does not exist. */
let waiting: string;
let catalogId: string;
beforeAll(async () => {
  server = await startTestServer();
  catalogId = (await server.client.register(chain('exe/two', 2, { workload: { n: 1 } }))).catalog_id;
  ended = (await server.client.execute({ path: 'exe/two' })).execution_id;
  await workOff(server.client, 'w1', (step) => ({ from: step }));
  waiting = (await server.client.execute({ path: 'exe/two', execution_pool: 'nobody' })).execution_id;
});

const start = async (path = 'exe/two', pool = 'nobody') =>
  (await server.client.execute({ path, execution_pool: pool })).execution_id;
const id = expect.stringMatching(/^\d{17,19}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);

describe('detail', () => {
  it('of a finished execution has the fields of both readers, ids as strings', async () => {
    const { body } = await get(server.url, `/api/executions/${ended}`);
    const { start_time, end_time } = body;
    expect(body).toMatchObject({
      execution_id: ended,
      catalog_id: catalogId,
      path: 'exe/two',
      version: 1,
      status: 'COMPLETED',
      start_time: time,
      end_time: time,
      started_at: start_time,
      completed_at: end_time,
      duration_seconds: expect.any(Number),
      duration_human: expect.stringMatching(/^\d+s$/),
      progress: 100,
      error: null,
      parent_execution_id: null,
      workload: { n: 1 },
      events_included: true,
      events_endpoint: `/api/executions/${ended}/events`,
    });
    expect(body.event_count).toBe((body.events as unknown[]).length);
  });

  it('of a running execution has no end', async () => {
    const { body } = await get(server.url, `/api/executions/${waiting}`);
    expect(body).toMatchObject({
      status: 'RUNNING',
      end_time: null,
      completed_at: null,
      duration_seconds: null,
      progress: 0,
    });
  });

  it('gives events oldest first when no paging is asked for', async () => {
    const { events } = await server.client.execution(ended);
    expect(events.map(({ stream_version }) => stream_version)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]).toMatchObject({
      execution_id: ended,
      event_id: id,
      event_type: 'playbook_started',
      node_name: 'exe/two',
      status: 'STARTED',
      created_at: time,
      timestamp: time,
      result: null,
      error: null,
    });
  });

  it('gives pages newest first when paging is asked for', async () => {
    const { body } = await get(server.url, `/api/executions/${ended}?page=1&page_size=3`);
    const events = body.events as { stream_version: number }[];
    const total = Number(body.event_count);
    expect(events.map(({ stream_version }) => stream_version)).toEqual([total, total - 1, total - 2]);
    expect(body.pagination).toEqual({
      page: 1,
      page_size: 3,
      total_events: total,
      total_pages: Math.ceil(total / 3),
      has_next: true,
      has_prev: false,
    });
  });

  it('leaves events out on request', async () => {
    const { body } = await get(server.url, `/api/executions/${ended}?include_events=false`);
    expect({ events: body.events, included: body.events_included }).toEqual({ events: [], included: false });
  });

  it.each(['', '/status', '/events', '/result', '/explain', '/stream'])('%s of an unknown id is 404', async (part) => {
    const { status, body } = await get(server.url, `/api/executions/12345${part}`);
    expect({ status, error: body.error }).toEqual({ status: 404, error: 'Execution not found: 12345' });
  });
});

describe('events', () => {
  it('pages through everything without gap or repetition', async () => {
    const seen: number[] = [];
    for (let page = 1; ; page++) {
      const { events, pagination } = await server.client.events(ended, { page, page_size: 4, order: 'asc' });
      seen.push(...events.map(({ stream_version }) => stream_version));
      expect(pagination).toMatchObject({ page, has_prev: page > 1 });
      if (!pagination.has_next) break;
    }
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    expect(seen.length).toBe((await server.client.execution(ended)).event_count);
  });

  it('is newest first by default', async () => {
    const { events } = await server.client.events(ended);
    expect(events[0]?.event_type).toBe('playbook.completed');
  });

  it('filters by type', async () => {
    const { events, pagination } = await server.client.events(ended, { event_type: 'command.completed' });
    expect(events.map(({ node_name }) => node_name)).toEqual(['step_2', 'start']);
    expect(pagination.total_events).toBe(2);
  });

  it('gives what came after an event', async () => {
    const all = (await server.client.events(ended, { order: 'asc' })).events;
    const since = await server.client.events(ended, { order: 'asc', since_event_id: String(all[4]?.event_id) });
    expect(since.events.map(({ event_id }) => event_id)).toEqual(all.slice(5).map(({ event_id }) => event_id));
  });
});

describe('list', () => {
  it('is a bare list with the same summary as the detail', async () => {
    const { list } = await get(server.url, '/api/executions?path=exe/two&status=completed');
    const { events, events_included, events_endpoint, pagination, workload, ...summary } = (
      await get(server.url, `/api/executions/${ended}`)
    ).body;
    expect(list).toEqual([summary]);
  });

  it.each([
    ['path, any part in any case', () => 'path=EXE/TW', true],
    ['another path', () => 'path=other', false],
    ['catalog_id', () => `catalog_id=${catalogId}`, true],
    ['another catalog_id', () => 'catalog_id=5', false],
    ['status', () => 'status=RUNNING', true],
    ['another status', () => 'status=FAILED', false],
  ])('filters by %s', async (_, query, found) => {
    const { list } = await get(server.url, `/api/executions?${query()}`);
    expect(list.some((item) => (item as { execution_id: string }).execution_id === waiting)).toBe(found);
  });

  it('pages with limit/offset and with page/page_size alike', async () => {
    await server.client.register(chain('exe/paged', 1));
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift(await start('exe/paged'));
    const read = async (query: string) =>
      (await get(server.url, `/api/executions?path=exe/paged&${query}`)).list.map(
        (item) => (item as { execution_id: string }).execution_id,
      );
    expect(await read('limit=2&offset=2')).toEqual(ids.slice(2, 4));
    expect(await read('page=2&page_size=2')).toEqual(ids.slice(2, 4));
    expect(await read('page=3&page_size=2')).toEqual(ids.slice(4));
    expect(await read('page=4&page_size=2')).toEqual([]);
  });

  it('is newest first whatever the fraction of the second', async () => {
    await server.client.register(chain('exe/times', 1));
    const times = ['05Z', '05.1Z', '05.12Z', '05.123Z', '05.2Z'].map((second) => `2026-01-02T03:04:${second}`);
    for (const at of times) {
      await sql(server.database, 'UPDATE noetl.execution SET start_time = $2 WHERE execution_id = $1', [
        await start('exe/times'),
        at,
      ]);
    }
    const rows = await server.client.listExecutions({ path: 'exe/times' });
    const shown = times.map((time) => new Date(time).toISOString());
    expect(rows.map(({ start_time }) => start_time)).toEqual(shown.reverse());
  });
});

describe('status', () => {
  it('of a finished execution', async () => {
    expect(await server.client.status(ended)).toEqual({
      execution_id: ended,
      status: 'COMPLETED',
      path: 'exe/two',
      current_step: 'step_2',
      progress: { total_steps: 2, completed_steps: 2, running_steps: 0, failed_steps: 0 },
      is_cancelled: false,
      completed: true,
      failed: false,
      completed_steps: ['start', 'step_2'],
      error: null,
      start_time: time,
      end_time: time,
      duration_seconds: expect.any(Number),
      duration_human: expect.any(String),
    });
  });

  it('of one that waits', async () => {
    expect(await server.client.status(waiting)).toMatchObject({
      status: 'RUNNING',
      current_step: 'start',
      progress: { total_steps: 1, completed_steps: 0, running_steps: 1, failed_steps: 0 },
      completed: false,
    });
  });

  it('of a failed one: completed and failed, with the error', async () => {
    const execution = await start('exe/two', 'shared');
    await server.client.report({ worker_id: 'w1', reports: [failed(await leaseOne(server.client), 'no such host')] });
    expect(await server.client.status(execution)).toMatchObject({
      status: 'FAILED',
      completed: true,
      failed: true,
      progress: { failed_steps: 1 },
      error: expect.stringContaining('no such host'),
    });
  });
});

describe('result', () => {
  it('is the data of the last step and of every step', async () => {
    expect(await server.client.result(ended)).toEqual({
      execution_id: ended,
      status: 'COMPLETED',
      result: { from: 'step_2' },
      steps: { start: { from: 'start' }, step_2: { from: 'step_2' } },
    });
  });

  it('of a failed execution names the step, the error and the event', async () => {
    const execution = await start('exe/two', 'shared');
    await server.client.report({ worker_id: 'w1', reports: [failed(await leaseOne(server.client), 'boom')] });
    const { status, error } = await server.client.result(execution);
    const [event] = (await server.client.events(execution, { event_type: 'command.failed' })).events;
    expect({ status, error }).toMatchObject({
      status: 'FAILED',
      error: {
        message: expect.stringContaining('boom'),
        step: 'start',
        event_id: event?.event_id,
        info: { code: 'TEST' },
      },
    });
  });
});

describe('explain', () => {
  it('says that no worker serves the pool, and what to do', async () => {
    const { summary, waiting_for } = await server.client.explain(waiting);
    expect(summary).toContain("pool 'nobody'");
    expect(waiting_for).toEqual([
      expect.objectContaining({
        kind: 'command_pending',
        step: 'start',
        what_to_do: 'Start one: noetl worker --pool nobody',
      }),
    ]);
  });

  it('says who runs the command', async () => {
    const execution = await start('exe/two', 'shared');
    const command = await leaseOne(server.client, 'runner');
    const { waiting_for } = await server.client.explain(execution);
    expect(waiting_for).toEqual([
      expect.objectContaining({
        kind: 'command_running',
        command_id: command.command_id,
        detail: expect.stringContaining('runner'),
      }),
    ]);
    await server.client.cancel(execution);
  });

  it('says that it ended', async () => {
    const { status, waiting_for } = await server.client.explain(ended);
    expect({ status, kinds: waiting_for.map(({ kind }) => kind) }).toEqual({
      status: 'COMPLETED',
      kinds: ['terminal'],
    });
  });
});

describe('a branching execution', () => {
  it('counts every branch in progress', async () => {
    await server.client.register(fan('exe/fan', 4));
    const execution = await start('exe/fan', 'shared');
    await server.client.report({ worker_id: 'w1', reports: [done(await leaseOne(server.client))] });
    const { commands } = await server.client.lease({ worker_id: 'w1', pools: ['shared'], max: 10, wait_ms: 0 });
    expect(commands.map(({ step }) => step)).toEqual(['branch_1', 'branch_2', 'branch_3', 'branch_4']);
    await server.client.report({ worker_id: 'w1', reports: commands.slice(0, 3).map((command) => done(command)) });
    expect((await server.client.status(execution)).progress).toEqual({
      total_steps: 5,
      completed_steps: 4,
      running_steps: 1,
      failed_steps: 0,
    });
    await server.client.cancel(execution);
  });
});
