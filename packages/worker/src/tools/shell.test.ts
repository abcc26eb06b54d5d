import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { JsonObject } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { shellTool } from './shell.js';
import type { ToolResult } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

function run(config: JsonObject, signal?: AbortSignal): Promise<ToolResult> {
  return shellTool.run(toolCall({ kind: 'shell', ...config }, signal === undefined ? {} : { signal }));
}

/** A killed process may stay a zombie until its new parent looks: that is gone too. */
async function isGone(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat === undefined || / [ZX] /.test(stat.slice(stat.lastIndexOf(')')));
}

describe('the shell tool', () => {
  it('answers with the fields of both dialects', async () => {
    const result = await run({ command: 'echo out; echo err >&2' });
    expect(result).toMatchObject({
      status: 'success',
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 0,
      data: {
        exit_code: 0,
        returncode: 0,
        stdout: 'out\n',
        stderr: 'err\n',
        text: 'out\n',
        commands: [{ cmd_preview: 'echo out; echo err >&2', returncode: 0, stdout: 'out\n', stderr: 'err\n' }],
      },
    });
  });

  it.each([{ command: 'echo 1' }, { cmd: 'echo 1' }, { cmds: ['echo 1'] }])('takes %o', async (config) => {
    expect((await run(config)).stdout).toBe('1\n');
  });

  it('stops at the first command that fails', async () => {
    const result = await run({ cmds: ['echo one', 'echo two; exit 3', 'echo three'] });
    expect(result).toMatchObject({
      status: 'error',
      error: 'Command exited with code 3',
      exit_code: 3,
      stdout: 'one\ntwo\n',
      error_info: { kind: 'process', code: 'EXIT_3', retryable: false },
    });
  });

  it('uses the shell and the directory it is told', async () => {
    const result = await run({ command: 'pwd; echo $BASH_VERSION', shell: 'bash', cwd: tmpdir() });
    expect(result.stdout).toMatch(/^\/.*\n\d+\./);
  });

  it('sees the declared environment and not the one of the worker', async () => {
    process.env['WORKER_TOKEN_FOR_TEST'] = 'secret';
    try {
      const result = await run({ command: 'echo "[$WORKER_TOKEN_FOR_TEST][$N][$PATH]"', env: { N: 5 } });
      expect(result.stdout).toBe(`[][5][${process.env['PATH']}]\n`);
    } finally {
      delete process.env['WORKER_TOKEN_FOR_TEST'];
    }
  });

  it('keeps the beginning and the end of a large output', async () => {
    const result = await run({ command: 'echo BEGIN; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo END' });
    expect(result.truncated).toBe(true);
    expect(result.stdout?.length).toBeLessThan(1024 * 1024 + 100);
    expect(result.stdout?.slice(0, 8)).toBe('BEGIN\nxx');
    expect(result.stdout?.slice(-6)).toBe('x\nEND\n');
    expect(result.stdout?.replaceAll('x', '')).toMatch(/… \d+ bytes omitted …/);
  });

  it('limits the output of all commands together', async () => {
    const loud = 'head -c 900000 /dev/zero | tr "\\0" x';
    const result = await run({ cmds: [`echo BEGIN; ${loud}`, loud, `${loud}; echo END`] });
    expect(result.truncated).toBe(true);
    expect(result.stdout?.length).toBeLessThan(1024 * 1024 + 100);
    expect(result.stdout?.replaceAll('x', '')).toMatch(/^BEGIN\n\n… \d+ characters omitted …\nEND\n$/);
  });

  it('kills grandchildren on a time-out', async () => {
    const result = await run({ command: 'sleep 300 & echo $!; wait', timeout: 0.3 });
    expect(result).toMatchObject({ status: 'timeout', error_info: { kind: 'timeout', code: 'SHELL_TIMEOUT' } });
    expect(await isGone(Number(result.stdout))).toBe(true);
  });

  it('shares one time-out among its commands', async () => {
    const result = await run({ cmds: ['sleep 0.2', 'sleep 300'], timeout: 0.4 });
    expect(result.status).toBe('timeout');
    expect(result.error).toBe('Execution timed out after 0.4 seconds');
  });

  it('leaves no background process behind when it succeeds', async () => {
    const result = await run({ command: 'sleep 300 >/dev/null 2>&1 & echo $!' });
    expect(result.status).toBe('success');
    expect(await isGone(Number(result.stdout))).toBe(true);
  });

  it('ends when a background process keeps its output open', async () => {
    const result = await run({ command: 'sleep 300 & echo $!' });
    expect(result.status).toBe('success');
    expect(await isGone(Number(result.stdout))).toBe(true);
  });

  it('kills a process that ignores SIGTERM', async () => {
    const result = await run({ command: 'trap "" TERM; echo $$; while :; do sleep 0.1; done', timeout: 0.3 });
    expect(result.status).toBe('timeout');
    expect(await isGone(Number(result.stdout))).toBe(true);
  });

  it('ends when it is aborted', async () => {
    const controller = new AbortController();
    const ended = run({ command: 'sleep 300' }, controller.signal);
    controller.abort();
    expect((await ended).status).toBe('error');
  });

  it('runs nothing when it is aborted before it starts', async () => {
    await expect(run({ command: 'echo 1' }, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
  });

  it.each([{}, { cmds: [] }, { command: '' }, { cmds: ['echo', 3] }])('refuses %o', async (config) => {
    await expect(run(config)).rejects.toThrow('Configuration error: Invalid shell config');
  });

  it('says which shell cannot be started', async () => {
    await expect(run({ command: 'x', shell: 'no-such-shell' })).rejects.toThrow(
      'Process error: cannot start no-such-shell',
    );
  });
});
