// Logs out of one installation and into another: all of a log or nothing of it, once, and nobody works for it.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Id } from '../../packages/core/src/index.js';
import { loadServerConfig, rebuildReadModel } from '../../packages/server/src/index.js';
import { happened, playbookText, run } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { ask, get, post } from './support/ask.js';
import { sql } from './support/sql.js';

let source: TestServer;
let target: TestServer;

beforeAll(async () => {
  source = await startTestServer();
  target = await startTestServer();
  startTestWorker(source.client);
  await source.client.register(
    playbookText(
      'archive/squares',
      `
  - step: start
    loop: { in: [1, 2, 3], iterator: n, spec: { mode: sequential } }
    tool: { kind: python, code: "result = {'square': n * 1.0, 'name': 'ünï\\\\u2028code'}" }
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: noop }`,
    ),
  );
  await source.client.register(
    playbookText(
      'archive/waits',
      `
  - step: start
    tool: { kind: wait, signal: go }
    next: { arcs: [{ step: after }] }
  - step: after
    tool: { kind: noop }`,
    ),
  );
});

const exported = async (server: TestServer, id: string): Promise<string> => {
  const answer = await fetch(`${server.url}/api/replay/export?execution_id=${id}`);
  expect(answer.status).toBe(200);
  return answer.text();
};

const imported = (text: string | Buffer, server = target) =>
  ask(server.url, 'POST', '/api/replay/import', { text, headers: { 'content-type': 'application/x-ndjson' } });

const replayed = async (server: TestServer, id: string) =>
  (await get(server.url, `/api/replay/state?execution_id=${id}`)).text;

async function waiting(): Promise<string> {
  const { execution_id: id } = await source.client.execute({ path: 'archive/waits' });
  await happened(source.client, id, 'command.issued', 'start');
  return id;
}

describe('an exported log', () => {
  it('has a header with the playbook, an event a line, and a footer', async () => {
    const id = await run(source.client, 'archive/squares');
    const lines = (await exported(source, id)).trimEnd().split('\n');
    const [header, first] = lines.map((line) => JSON.parse(line));
    expect(header).toMatchObject({
      format: 'noetl.log',
      format_version: 1,
      execution_id: id,
      playbook: { path: 'archive/squares', content: expect.stringContaining('archive/squares') },
    });
    expect(first).toMatchObject({ stream_version: 1, event_type: 'playbook_started' });
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
      events: lines.length - 2,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('is the same file whenever it is exported', async () => {
    const id = await run(source.client, 'archive/squares');
    expect(await exported(source, id)).toBe(await exported(source, id));
  });

  it('of an execution that does not exist is 404', async () => {
    expect(await get(source.url, '/api/replay/export?execution_id=7')).toMatchObject({ status: 404 });
  });
});

describe('an imported log', () => {
  it('replays to the same bytes, and exports to the same file', async () => {
    const id = await run(source.client, 'archive/squares');
    const file = await exported(source, id);
    expect(await imported(file)).toMatchObject({ status: 200, body: { execution_id: id, status: 'imported' } });
    expect(await replayed(target, id)).toBe(await replayed(source, id));
    expect(await exported(target, id)).toBe(file);
  });

  it('is listed, and can be looked at like any other', async () => {
    const id = await run(source.client, 'archive/squares');
    await imported(await exported(source, id));
    expect(await target.client.status(id)).toMatchObject({ status: 'COMPLETED', path: 'archive/squares' });
    expect(await get(target.url, `/api/executions/${id}/graph`)).toMatchObject({
      status: 200,
      body: { status: 'COMPLETED' },
    });
  });

  it('does not make its playbook the newest of its path', async () => {
    await imported(await exported(source, await run(source.client, 'archive/squares')));
    await expect(target.client.execute({ path: 'archive/squares' })).rejects.toMatchObject({ status: 404 });
  });

  it('twice is once', async () => {
    const id = await run(source.client, 'archive/squares');
    const file = await exported(source, id);
    await imported(file);
    expect(await imported(file)).toMatchObject({ status: 200, body: { status: 'duplicate' } });
    expect(await exported(target, id)).toBe(file);
  });

  it('twice at the same moment is once', async () => {
    const id = await run(source.client, 'archive/squares');
    const file = await exported(source, id);
    const statuses = (await Promise.all([imported(file), imported(file)])).map(({ body }) => body['status']);
    expect(statuses.sort()).toEqual(['duplicate', 'imported']);
    expect(await exported(target, id)).toBe(file);
  });

  it('is refused where the id has another log', async () => {
    const id = await waiting();
    await imported(await exported(source, id));
    await source.client.signal(id, { name: 'go' });
    for await (const message of source.client.stream(id)) if (message.event === 'status') break;
    const answer = await imported(await exported(source, id));
    expect(answer).toMatchObject({ status: 409 });
    expect(answer.text).toContain('is here already, with another log');
  });
});

describe('an imported log that had not ended', () => {
  let id: string;
  beforeAll(async () => {
    id = await waiting();
    await imported(await exported(source, id));
  });

  it('stands as it stood', async () => {
    expect(await target.client.status(id)).toMatchObject({ status: 'RUNNING' });
    expect(await replayed(target, id)).toBe(await replayed(source, id));
  });

  it('has nothing in the queue', async () => {
    expect(await sql(target.database, 'SELECT 1 FROM noetl.command WHERE execution_id = $1', [id])).toEqual([]);
  });

  it.each([
    ['signal', { name: 'go' }],
    ['cancel', {}],
    ['finalize', { status: 'COMPLETED' }],
  ])('refuses to %s', async (verb, body) => {
    const file = await exported(target, id);
    const answer = await post(target.url, `/api/executions/${id}/${verb}`, body);
    expect(answer).toMatchObject({ status: 409 });
    expect(answer.text).toContain('was imported as history');
    expect(await exported(target, id)).toBe(file);
  });

  it('can be run again', async () => {
    expect(await target.client.rerun(id)).toMatchObject({ source_execution_id: id, status: 'started' });
  });

  it('goes on once it is taken over', async () => {
    const taken = await waiting();
    await imported(await exported(source, taken));
    const config = loadServerConfig({ DATABASE_URL: target.database.url }, {});
    await rebuildReadModel(config, { check: false, adopt: true, ids: [taken as Id] });
    expect(await target.client.signal(taken, { name: 'go' })).toMatchObject({ status: 'delivered', step: 'start' });
  });

  it('refuses what workers report', async () => {
    const body = { execution_id: id, step: 'start', event_type: 'command.completed', payload: {} };
    expect(await post(target.url, '/api/events', body)).toMatchObject({ status: 409 });
  });
});

describe('a file that is not what it should be', () => {
  let id: string;
  let lines: string[];
  beforeAll(async () => {
    id = await run(source.client, 'archive/squares');
    lines = (await exported(source, id)).trimEnd().split('\n');
  });

  const cases: [string, () => string, RegExp][] = [
    ['is empty', () => '', /its end is missing/],
    ['lost its last line', () => lines.slice(0, -1).join('\n'), /its end is missing/],
    ['was cut in the middle of a line', () => lines.join('\n').slice(0, 700), /its end is missing/],
    ['lost a line', () => lines.filter((_, index) => index !== 3).join('\n'), /and its last line says/],
    ['has a changed event', () => lines.join('\n').replace('playbook_started', 'playbook_starteD'), /checksum/],
    ['has two events swapped', () => [lines[0], lines[2], lines[1], ...lines.slice(3)].join('\n'), /checksum/],
    ['is no log', () => '{"a":1}\n{"events":0,"sha256":"x"}', /checksum/],
  ];
  it.each(cases)('because it %s is refused, and nothing is stored', async (_, text, error) => {
    const answer = await imported(text());
    expect(answer.status).toBe(422);
    expect(answer.body['error']).toMatch(error);
    expect(await get(target.url, `/api/executions/${id}`)).toMatchObject({ status: 404 });
  });

  it('because it is JSON is refused', async () => {
    expect(await post(target.url, '/api/replay/import', {})).toMatchObject({ status: 415 });
  });

  it('is read however its bytes arrive', async () => {
    const text = Buffer.from(`${lines.join('\n')}\n`);
    const pieces = Array.from({ length: Math.ceil(text.length / 7) }, (_, at) => text.subarray(at * 7, at * 7 + 7));
    const chunks = (async function* () {
      yield* pieces;
    })();
    expect(await target.client.importLog(chunks)).toMatchObject({ status: 'imported' });
  });
});
