// Deleting from the catalog archives: the path is free again, nothing that runs or ran loses its playbook.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildProgram } from '../../packages/cli/src/program.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { post } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { done, leaseOne, workOff } from './support/reports.js';
import { sql } from './support/sql.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

const remove = (body: object) => post(server.url, '/api/catalog/delete', body);
const restore = (body: object) => post(server.url, '/api/catalog/restore', body);
const resource = (body: object) => post(server.url, '/api/catalog/resource', body);

/** Registers versions 1 to n, and gives their ids. */
async function registered(path: string, versions: number): Promise<string[]> {
  const ids: string[] = [];
  for (let length = 1; length <= versions; length++) {
    ids.push((await server.client.register(chain(path, length))).catalog_id);
  }
  return ids;
}

async function listed(path: string, include_archived = false): Promise<number[]> {
  const { entries } = await server.client.catalogList({ path, include_archived });
  return entries.map(({ version }) => version).sort((a, b) => a - b);
}

describe('delete', () => {
  it('archives every version of a path and says which', async () => {
    const [first, second] = await registered('gone/all', 2);
    const { status, body } = await remove({ path: 'gone/all' });
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'success',
      message: "2 versions of 'gone/all' archived.",
      path: 'gone/all',
      deleted: [
        { catalog_id: first, version: 1 },
        { catalog_id: second, version: 2 },
      ],
      count: 2,
    });
  });

  it.each([[2], ['2']])('archives the one version %j', async (version) => {
    const path = `gone/one-${typeof version}`;
    await registered(path, 3);
    const { body } = await remove({ path, version });
    expect({ count: body.count, left: await listed(path) }).toEqual({ count: 1, left: [1, 3] });
  });

  it('gives the path to the newest version that is left', async () => {
    await registered('gone/newest', 2);
    await remove({ path: 'gone/newest', version: 2 });
    expect((await resource({ path: 'gone/newest' })).body.version).toBe(1);
  });

  it('hides the path from lookups and starts', async () => {
    await registered('gone/hidden', 1);
    await remove({ path: 'gone/hidden' });
    const answers = await Promise.all([
      resource({ path: 'gone/hidden' }),
      resource({ path: 'gone/hidden', version: 1 }),
      post(server.url, '/api/execute', { path: 'gone/hidden' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  it('hides the entry from lists unless they include what is archived', async () => {
    await registered('gone/listed', 2);
    await remove({ path: 'gone/listed' });
    expect({ usual: await listed('gone/listed'), all: await listed('gone/listed', true) }).toEqual({
      usual: [],
      all: [1, 2],
    });
  });

  it('keeps the entry readable by id', async () => {
    const [catalog_id] = await registered('gone/by-id', 1);
    await remove({ path: 'gone/by-id' });
    expect((await resource({ catalog_id })).body).toMatchObject({ path: 'gone/by-id', version: 1 });
  });

  it('never removes a row', async () => {
    await registered('gone/rows', 2);
    await remove({ path: 'gone/rows' });
    const rows = await sql<{ archived: boolean }>(
      server.database,
      'SELECT archived_at IS NOT NULL AS archived FROM noetl.catalog WHERE path = $1',
      ['gone/rows'],
    );
    expect(rows).toEqual([{ archived: true }, { archived: true }]);
  });

  it.each([
    ['a path that is not there', { path: 'gone/never' }],
    ['a version that is not there', { path: 'gone/never', version: 7 }],
  ])('finds nothing to do for %s', async (_, body) => {
    const answer = await remove(body);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'success', deleted: [], count: 0 });
  });

  it('does nothing the second time', async () => {
    await registered('gone/twice', 1);
    await remove({ path: 'gone/twice' });
    expect((await remove({ path: 'gone/twice' })).body.count).toBe(0);
  });

  it('tells one caller only when two delete at the same time', async () => {
    await registered('gone/race', 3);
    const answers = await Promise.all([remove({ path: 'gone/race' }), remove({ path: 'gone/race' })]);
    expect(answers.reduce((sum, { body }) => sum + Number(body.count), 0)).toBe(3);
  });
});

describe('a body that does not say what to delete or restore', () => {
  it.each([
    [{}],
    [{ path: '' }],
    [{ path: '  ' }],
    [{ path: null }],
    [{ path: 'gone/kept', version: 'latest' }],
    [{ path: 'gone/kept', version: '' }],
    [{ path: 'gone/kept', version: 'all' }],
    [{ path: 'gone/kept', version: 1.5 }],
    [{ path: 'gone/kept', version: [1] }],
  ])('%j is refused with 422', async (body) => {
    await server.client.register(chain('gone/kept', 1));
    const answers = await Promise.all([remove(body), restore(body)]);
    expect(answers.map(({ status }) => status)).toEqual([422, 422]);
    expect(await listed('gone/kept')).toEqual([1]);
  });
});

describe('what already runs', () => {
  it('runs to its end on the archived version, also on a server that has not seen it', async () => {
    await registered('gone/running', 2);
    const { execution_id } = await server.client.execute({ path: 'gone/running' });
    const first = await leaseOne(server.client);
    await remove({ path: 'gone/running' });
    const other = await startTestServer({ database: server.database });
    await other.client.report({ worker_id: 'w1', reports: [done(first)] });
    await workOff(other.client);
    expect(await other.client.status(execution_id)).toMatchObject({
      status: 'COMPLETED',
      completed_steps: ['start', 'step_2'],
    });
    await other.close();
  });
});

describe('register after delete', () => {
  it('makes a new version of the same content', async () => {
    const [old] = await registered('gone/again', 1);
    await remove({ path: 'gone/again' });
    const again = await server.client.register(chain('gone/again', 1));
    expect(again.version).toBe(2);
    expect(again.catalog_id).not.toBe(old);
    expect(await listed('gone/again')).toEqual([2]);
  });
});

describe('restore', () => {
  it('brings back every archived version under its number and id', async () => {
    const [first, second] = await registered('back/all', 2);
    await remove({ path: 'back/all' });
    const { status, body } = await restore({ path: 'back/all' });
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'success',
      message: "2 versions of 'back/all' restored.",
      path: 'back/all',
      restored: [
        { catalog_id: first, version: 1 },
        { catalog_id: second, version: 2 },
      ],
      count: 2,
    });
    expect((await resource({ path: 'back/all' })).body.catalog_id).toBe(second);
  });

  it('brings back one version', async () => {
    await registered('back/one', 3);
    await remove({ path: 'back/one' });
    await restore({ path: 'back/one', version: 2 });
    expect(await listed('back/one')).toEqual([2]);
  });

  it('has nothing to do for what is not archived', async () => {
    await registered('back/none', 1);
    expect((await restore({ path: 'back/none' })).body).toMatchObject({ restored: [], count: 0 });
  });

  it('lets the path start again', async () => {
    await registered('back/start', 1);
    await remove({ path: 'back/start' });
    await restore({ path: 'back/start' });
    await expect(server.client.execute({ path: 'back/start' })).resolves.toMatchObject({ status: 'started' });
  });
});

describe('noetl catalog', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  async function noetl(...args: string[]): Promise<{ code: number | undefined; stdout: string; stderr: string }> {
    let code: number | undefined;
    const written = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        written[stream] += String(text);
        return true;
      });
    }
    const program = buildProgram('0', (value) => {
      code = value;
    });
    await program.parseAsync(['node', 'noetl', 'catalog', ...args, '--server', server.url]);
    vi.restoreAllMocks();
    return { code, ...written };
  }

  it('delete archives the version that --version names', async () => {
    await registered('cli/one', 2);
    expect(await noetl('delete', 'cli/one', '--version', '1')).toEqual({
      code: 0,
      stdout: 'cli/one  version 1\n',
      stderr: "1 version of 'cli/one' archived.\n",
    });
    expect(await listed('cli/one')).toEqual([2]);
  });

  it('delete archives all versions by default, and restore brings them back', async () => {
    await registered('cli/all', 2);
    await noetl('delete', 'cli/all');
    expect(await listed('cli/all')).toEqual([]);
    const { stdout } = await noetl('restore', 'cli/all');
    expect(stdout).toBe('cli/all  version 1\ncli/all  version 2\n');
    expect(await listed('cli/all')).toEqual([1, 2]);
  });

  it('prints the answer of the server with --json', async () => {
    const [catalog_id] = await registered('cli/json', 1);
    const { stdout } = await noetl('delete', 'cli/json', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ deleted: [{ catalog_id, version: 1 }], count: 1 });
  });

  it('says when there was nothing to delete', async () => {
    const { code, stderr } = await noetl('delete', 'cli/never');
    expect({ code, stderr }).toEqual({ code: 0, stderr: "0 versions of 'cli/never' archived.\n" });
  });
});
