import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { buildProgram } from '../program.js';

afterEach(() => vi.restoreAllMocks());

/** The command as it is typed: exit code, and what it wrote where. Input comes in the given chunks. */
async function fold(
  ...chunks: (string | Buffer)[]
): Promise<{ code: number | undefined; stdout: string; stderr: string }> {
  let code: number | undefined;
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      written[stream] += String(text);
      return true;
    });
  }
  const stdin = Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as unknown as typeof process.stdin);
  const program = buildProgram('0', (value) => {
    code = value;
  });
  await program.parseAsync(['node', 'noetl', 'replay', 'fold']);
  vi.restoreAllMocks();
  return { code, ...written };
}

const states = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const log = (execution_id: number, ...types: string[]) =>
  JSON.stringify({ execution_id, events: types.map((event_type, index) => ({ event_id: index + 1, event_type })) });

describe('noetl replay fold', () => {
  it('gives one state a line, in the order of the logs', async () => {
    const { code, stdout, stderr } = await fold(`${log(1, 'playbook.completed')}\n${log(2, 'playbook.failed', 'x')}\n`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(states(stdout)).toMatchObject([
      { execution_id: 1, event_count: 1, execution: { status: 'COMPLETED' } },
      { execution_id: 2, event_count: 2, execution: { status: 'FAILED' } },
    ]);
  });

  it('folds a tail on top of a stored state', async () => {
    const seed = { aggregate_id: 'execution/1/all', aggregate_type: 'replay_state', version: 1, meta: {} };
    const line = { execution_id: 1, events: [{ event_id: 1 }], tail: [{ event_id: 2 }], seed, digest: 'd' };
    expect(states((await fold(JSON.stringify(line))).stdout)).toMatchObject([
      { event_count: 2, upcaster_registry_digest: 'd', replay_snapshot: { version: 1 } },
    ]);
  });

  it('answers a bad line with its error, goes on, and ends with exit code 2', async () => {
    const { code, stdout, stderr } = await fold(`${log(1)}\n{"execution_id":2}\n{oops\n${log(4)}\n`);
    expect(code).toBe(2);
    expect(states(stdout)).toMatchObject([
      { execution_id: 1 },
      { error: 'events must be a list of events', line: 2 },
      { error: "expected a key in double quotes, but there is 'o', column 2", line: 3 },
      { execution_id: 4 },
    ]);
    expect(stderr).toMatch(/^line 2: events must be a list of events\nline 3: expected a key/);
  });

  it('keeps a line whole however it arrives, and splits at line feeds only', async () => {
    const line = Buffer.from(log(1, 'é\u2028😀'));
    const bytes = Array.from(line, (byte) => Buffer.of(byte));
    const { code, stdout } = await fold(...bytes, '\n');
    expect(code).toBe(0);
    expect(states(stdout)).toMatchObject([{ last_event_type: 'é\u2028😀' }]);
  });

  it('passes over empty lines, and a log needs no line feed at its end', async () => {
    const { code, stdout } = await fold(`\n\r\n${log(1)}\r\n\n${log(2)}`);
    expect(code).toBe(0);
    expect(states(stdout)).toMatchObject([{ execution_id: 1 }, { execution_id: 2 }]);
  });

  it('is silent about nothing', async () => {
    expect(await fold('')).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
