// The commands about replay as they are typed, against a real server.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { explainFailure } from '../../packages/cli/src/failure.js';
import { buildProgram } from '../../packages/cli/src/program.js';
import { playbookText, run } from '../support/run.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { sql } from './support/sql.js';

let server: TestServer;
let id: string;
const folder = mkdtempSync(join(tmpdir(), 'noetl-replay-cli-'));

beforeAll(async () => {
  server = await startTestServer();
  startTestWorker(server.client);
  await server.client.register(
    playbookText(
      'cli/sum',
      `
  - step: start
    tool: { kind: python, input: { n: "{{ workload.n }}" }, code: "result = int(n) + 1" }
    set: { ctx.sum: "{{ output.data }}" }
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: noop }`,
      'workload: { n: 1 }',
    ),
  );
  id = await run(server.client, 'cli/sum');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

/** Exit code, and what was written where. */
async function noetl(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[stream], 'write').mockImplementation((text, ...rest) => {
      written[stream] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    });
  }
  let code = 0;
  const program = buildProgram('0', (value) => {
    code = value;
  });
  try {
    await program.parseAsync(['node', 'noetl', ...args, '--server', server.url]);
  } catch (error) {
    const failure = explainFailure(error);
    code = failure.code;
    written.stderr += failure.message;
  } finally {
    vi.restoreAllMocks();
  }
  return { code, ...written };
}

describe('noetl replay ID', () => {
  it('shows steps, variables and who wrote them', async () => {
    const { code, stdout } = await noetl('replay', id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Status +COMPLETED/);
    expect(stdout).toMatch(/start +python +done +1 +1 +\S+ +→ end/);
    expect(stdout).toMatch(/start\.result +2 +start #\d+/);
  });

  it('shows how it stood before', async () => {
    const { stdout } = await noetl('replay', id, '--at', '#3');
    expect(stdout).toMatch(/Status +RUNNING/);
    expect(stdout).toMatch(/start +python +queued/);
    expect(stdout).not.toContain('start.result');
  });

  it('prints the state byte for byte as JSON', async () => {
    const { stdout } = await noetl('replay', id, '--json', '--projection', 'command');
    const response = await fetch(`${server.url}/api/replay/state?execution_id=${id}&projection=command`);
    expect(stdout).toBe(`${await response.text()}\n`);
  });

  it('folds to the event that the version names', async () => {
    expect(JSON.parse((await noetl('replay', id, '--json', '--at', '#3')).stdout)).toMatchObject({ event_count: 3 });
  });

  it.each([
    [['replay', '12x'], /is not an execution id/],
    [['replay', '1', '--at', 'noon'], /is not a moment/],
    [['replay', '1', '--json', '--projection', 'x'], /is not a projection/],
    [['replay', '1', '--projection', 'all'], /names a part of the JSON/],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await noetl(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('noetl replay diff', () => {
  it('shows what changed between two moments, and who changed it', async () => {
    const { stdout } = await noetl('replay', 'diff', id, '#3', 'end');
    expect(stdout).toMatch(/steps\.start\.state\n {2}- "active"\n {2}\+ "done"/);
    expect(stdout).toMatch(/steps\.start\.result\n {2}\+ 2 {2}start #\d+/);
  });

  it('shows where two executions part', async () => {
    const other = await run(server.client, 'cli/sum', { n: 5 });
    const { stdout } = await noetl('replay', 'diff', id, other);
    expect(stdout).toMatch(/workload\.n\n {2}- 1 {2}start #1\n {2}\+ 5/);
    expect(stdout).toMatch(/start +done/);
  });

  it('says when nothing differs', async () => {
    expect((await noetl('replay', 'diff', id, '#3', '#3')).stdout).toContain('No difference.');
  });
});

describe('noetl export and noetl import', () => {
  it('write a file that is imported once', async () => {
    const file = join(folder, 'run.jsonl');
    expect(await noetl('export', id, '-o', file)).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(file, 'utf8')).toMatch(/^\{"format":"noetl.log"/);
    expect(await noetl('import', file)).toMatchObject({ code: 0, stdout: `${id} was here already.\n` });
  });

  it('refuse a file that was cut off', async () => {
    const file = join(folder, 'cut.jsonl');
    await noetl('export', id, '-o', file);
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, -100));
    const { code, stderr } = await noetl('import', file);
    expect(code).toBe(2);
    expect(stderr).toContain('its end is missing');
  });

  it('say which file is not there', async () => {
    expect(await noetl('import', join(folder, 'none'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Cannot read'),
    });
  });
});

describe('noetl admin drift', () => {
  it('is content with an execution that matches its log', async () => {
    const { code, stdout } = await noetl('admin', 'drift', id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^matches {2}\d+ {2}\d+ events; compared: execution 2, command 2/);
  });

  it('says when there was nothing to compare', async () => {
    expect((await noetl('admin', 'drift', '7')).stdout).toContain('nothing was compared');
  });

  it('ends with 1 and tells what differs', async () => {
    const other = await run(server.client, 'cli/sum');
    await sql(server.database, `UPDATE noetl.execution SET status = 'RUNNING' WHERE execution_id = $1`, [other]);
    const { code, stdout } = await noetl('admin', 'drift', '--all');
    expect(code).toBe(1);
    expect(stdout).toContain('status: stored "RUNNING", replay says "COMPLETED"');
    expect(stdout).toMatch(/executions: \d+ match their logs, 1 differ\n$/);
  });

  it('wants to know which', async () => {
    expect(await noetl('admin', 'drift')).toMatchObject({ code: 2 });
  });
});
