// Views of an execution at any moment of its life, on the logs of real runs.
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/index.js';
import { playbookText, run } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { get } from './support/ask.js';
import { sql } from './support/sql.js';

let server: TestServer;
let id: string;
let log: { event_id: string; stream_version: number; event_type: string; node_name: string; created_at: string }[];

const ORDERS = playbookText(
  'travel/orders',
  `
  - step: start
    tool: { kind: python, code: "result = {'n': 2, 'password': 'hunter2'}" }
    set: { ctx.count: "{{ output.n }}" }
    next: { arcs: [{ step: each, when: "{{ ctx.count > 1 }}" }, { step: never, when: "{{ ctx.count > 9 }}" }] }
  - step: each
    loop: { in: [10, 20, 30], iterator: n, spec: { mode: sequential } }
    tool: { kind: python, code: "result = n + 1" }
    next: { arcs: [{ step: last }] }
  - step: never
    tool: { kind: noop }
  - step: last
    tool: { kind: python, code: "{{ workload.code }}" }
    set: { ctx.count: 5 }`,
  "workload: { code: 'result = 1' }",
);

beforeAll(async () => {
  server = await startTestServer();
  startTestWorker(server.client);
  await server.client.register(ORDERS);
  id = await run(server.client, 'travel/orders');
  log = await sql(
    server.database,
    `SELECT event_id::text, stream_version::int, event_type, node_name, created_at::text FROM noetl.event
     WHERE execution_id = $1 ORDER BY stream_version`,
    [id],
  );
});

async function view(path: string, query: Record<string, string> = {}, of = id): Promise<JsonObject> {
  const answer = await get(server.url, `/api/executions/${of}/${path}?${new URLSearchParams(query)}`);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body;
}

/** The n-th event of this type about this step. */
function eventOf(type: string, step: string) {
  const found = log.find((event) => event.event_type === type && event.node_name === step);
  if (found === undefined) throw new Error(`no ${type} of ${step}`);
  return found;
}

describe('a moment', () => {
  it('is an event id, a version or a time, and means the same', async () => {
    const { event_id, stream_version } = eventOf('step.enter', 'each');
    const byId = await view('graph', { at: event_id });
    expect(byId).toMatchObject({ at: { event_id, stream_version } });
    expect(await view('graph', { at: `#${stream_version}` })).toEqual(byId);
    const { time } = byId['at'] as { time: string };
    const [last] = await sql<{ version: number }>(
      server.database,
      'SELECT max(stream_version)::int AS version FROM noetl.event WHERE execution_id = $1 AND created_at <= $2::timestamptz',
      [id, time],
    );
    expect(await view('graph', { at: time })).toMatchObject({ at: { stream_version: last?.version } });
  });

  it('before the first event is nothing that can be looked at', async () => {
    const answer = await get(server.url, `/api/executions/${id}/graph?at=2001-01-01T00:00:00Z`);
    expect(answer).toMatchObject({ status: 404, body: { error: 'Nothing had happened by then' } });
  });

  it('that nobody can read is refused', async () => {
    const answer = await get(server.url, `/api/executions/${id}/graph?at=yesterday`);
    expect(answer).toMatchObject({ status: 400 });
    expect(answer.text).toContain("query 'at' must be an event id, a version like");
  });

  it('of an execution that does not exist is 404', async () => {
    expect(await get(server.url, '/api/executions/7/timeline')).toMatchObject({ status: 404 });
  });
});

describe('the graph', () => {
  it('shows every step and arc as they stand at the end', async () => {
    expect(await view('graph')).toMatchObject({
      status: 'COMPLETED',
      nodes: [
        { id: 'start', kind: 'python', state: 'done', visit: 1, attempts: 1, error: null },
        { id: 'each', state: 'done' },
        { id: 'never', state: 'skipped' },
        { id: 'last', state: 'done' },
      ],
      arcs: [
        { from: 'start', to: 'each', state: 'taken', when: '{{ ctx.count > 1 }}' },
        { from: 'start', to: 'never', state: 'dead' },
        { from: 'each', to: 'last', state: 'taken', when: null },
      ],
    });
  });

  it('shows what had not happened yet as pending', async () => {
    const body = await view('graph', { at: eventOf('command.issued', 'start').event_id });
    expect(body).toMatchObject({
      status: 'RUNNING',
      nodes: [{ state: 'queued', ended: null }, { state: 'pending' }, { state: 'pending' }, { state: 'pending' }],
      arcs: [{ state: 'pending' }, { state: 'pending' }, { state: 'pending' }],
    });
  });

  it('counts the items of a loop that is under way', async () => {
    const body = await view('graph', { at: eventOf('command.completed', 'each').event_id });
    expect(body['nodes']).toContainEqual(
      expect.objectContaining({
        id: 'each',
        state: 'running',
        loop: expect.objectContaining({ total: 3, succeeded: 1 }),
      }),
    );
  });
});

describe('the timeline', () => {
  it('has a bar for each visit, with the parts of its command', async () => {
    const { bars, visits, next } = await view('timeline');
    expect({ visits, next }).toEqual({ visits: 4, next: null });
    expect(bars).toMatchObject([
      {
        number: 1,
        step: 'start',
        visit: 1,
        state: 'done',
        loop: null,
        commands: [
          { state: 'done', attempt: 1, parts: [{ part: 'queued' }, { part: 'starting' }, { part: 'running' }] },
        ],
      },
      {},
      {},
      {},
    ]);
    const [first] = bars as { commands: { parts: { from: string; to: string }[] }[] }[];
    const parts = first?.commands[0]?.parts ?? [];
    for (const [index, part] of parts.slice(1).entries()) expect(part.from).toBe(parts[index]?.to);
  });

  it('folds the items of a loop into ranges', async () => {
    const { bars } = await view('timeline');
    const each = (bars as JsonObject[]).find((bar) => bar['step'] === 'each');
    expect(each).toMatchObject({
      commands: [],
      loop: {
        total: 3,
        ranges: [0, 1, 2].map((index) => ({ first: index, last: index, commands: 1, done: 1, open: 0 })),
      },
    });
  });

  it('is paged', async () => {
    const first = await view('timeline', { limit: '2' });
    expect(first).toMatchObject({ bars: [{ number: 1 }, { number: 2 }], next: 2, visits: 4 });
    expect(await view('timeline', { limit: '2', after: '2' })).toMatchObject({
      bars: [{ number: 3 }, { number: 4 }],
      next: null,
    });
  });

  it('leaves open what was going on', async () => {
    const body = await view('timeline', { at: eventOf('command.claimed', 'start').event_id });
    expect(body).toMatchObject({
      bars: [
        { state: 'running', to: null, commands: [{ parts: [{ part: 'queued' }, { part: 'starting', to: null }] }] },
      ],
    });
  });
});

describe('variables', () => {
  const named = (body: JsonObject, name: string) =>
    (body['variables'] as JsonObject[]).find((one) => one['name'] === name);

  it('tell which event of which step wrote them last', async () => {
    const body = await view('variables');
    expect(named(body, 'ctx.count')).toMatchObject({
      value: 5,
      written_by: { step: 'last', event_type: 'ctx.updated' },
    });
    expect(named(body, 'each.result')).toMatchObject({
      scope: 'result',
      written_by: { step: 'each', event_type: 'loop.done' },
    });
    expect(named(body, 'workload.code')).toMatchObject({ written_by: { event_id: log[0]?.event_id } });
  });

  it('held something else before', async () => {
    const body = await view('variables', { at: eventOf('step.enter', 'each').event_id });
    expect(named(body, 'ctx.count')).toMatchObject({ value: 2, written_by: { step: 'start' } });
    expect(named(body, 'each.result')).toBeUndefined();
  });

  it('show no secrets', async () => {
    expect(named(await view('variables'), 'start.result')).toMatchObject({ value: { n: 2, password: '[REDACTED]' } });
  });

  it('are paged by name', async () => {
    const first = await view('variables', { limit: '1' });
    expect(first).toMatchObject({ variables: [{ name: 'ctx.count' }], next: 'ctx.count' });
    expect(await view('variables', { limit: '1', after: 'ctx.count' })).toMatchObject({
      variables: [{ name: 'each.result' }],
    });
  });
});

describe('changes', () => {
  it('tell what one event changed', async () => {
    const { event_id } = eventOf('command.claimed', 'start');
    const { events } = await view('changes', { at: event_id, limit: '1' });
    const [event] = events as JsonObject[];
    expect(event).toMatchObject({ event_id, event_type: 'command.claimed' });
    expect(event?.['changes']).toContainEqual({
      path: ['commands', expect.stringContaining(':start:'), 'status'],
      kind: 'changed',
      before: 'PENDING',
      after: 'CLAIMED',
    });
  });

  it('come a page at a time, backwards to the first event', async () => {
    const last = await view('changes', { limit: '3' });
    expect(last).toMatchObject({ previous: `#${log.length - 3}` });
    const before = await view('changes', { at: String(last['previous']), limit: '200' });
    expect(before['events']).toHaveLength(log.length - 3);
    expect(before).toMatchObject({ previous: null });
  });
});

describe('neighbours of an event', () => {
  it('are the events beside it, its cause and its consequences', async () => {
    const issued = eventOf('command.issued', 'start');
    const body = await view(`events/${issued.event_id}/neighbours`);
    expect(body).toMatchObject({
      event: { event_id: issued.event_id },
      previous: { stream_version: issued.stream_version - 1 },
      next: { stream_version: issued.stream_version + 1 },
    });
    expect((body['consequences'] as JsonObject[]).map((event) => event['event_type'])).toContain('command.completed');
    const completed = eventOf('command.completed', 'start');
    expect(await view(`events/${completed.event_id}/neighbours`)).toMatchObject({
      cause: { event_id: issued.event_id },
    });
  });

  it('end at the first event', async () => {
    expect(await view(`events/${log[0]?.event_id}/neighbours`)).toMatchObject({ previous: null, cause: null });
  });

  it('of an event of another execution are 404', async () => {
    expect(await get(server.url, `/api/executions/${id}/events/5/neighbours`)).toMatchObject({ status: 404 });
  });
});

describe('a diff', () => {
  const diff = async (query: Record<string, string>) => {
    const answer = await get(server.url, `/api/replay/diff?${new URLSearchParams(query)}`);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return answer.body;
  };

  it('of two moments tells what changed between them, and who changed it', async () => {
    const body = await diff({ execution_id: id, from: eventOf('step.enter', 'each').event_id });
    expect(body['changes']).toContainEqual(
      expect.objectContaining({
        path: ['ctx', 'count'],
        before: 2,
        after: 5,
        before_by: expect.objectContaining({ step: 'start' }),
        after_by: expect.objectContaining({ step: 'last' }),
      }),
    );
  });

  it('of a moment with itself is empty', async () => {
    expect(await diff({ execution_id: id, from: '#4', to: '#4' })).toMatchObject({ events_between: 0, changes: [] });
  });

  it('of two equal runs is empty', async () => {
    const other = await run(server.client, 'travel/orders');
    expect(await diff({ execution_id: id, with: other })).toMatchObject({
      forked: null,
      changes: [],
      first_difference: null,
    });
  });

  it('of a run and its fork begins where the fork does', async () => {
    const failed = await run(server.client, 'travel/orders', { code: "raise ValueError('no')" });
    const { execution_id: fork } = await server.client.rerun(failed, {
      mode: 'from_failure',
      workload: { code: 'result = 1' },
    });
    for await (const message of server.client.stream(fork)) if (message.event === 'status') break;
    expect(await diff({ execution_id: failed, with: fork })).toMatchObject({
      left: { status: 'FAILED' },
      right: { status: 'COMPLETED' },
      forked: 'right_from_left',
      copied_events: expect.any(Number),
      first_difference: { step: 'last', left: { state: 'failed' }, right: { state: 'done' } },
    });
  });

  it('needs something to compare with', async () => {
    expect(await get(server.url, `/api/replay/diff?execution_id=${id}`)).toMatchObject({ status: 400 });
  });
});
