import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Json, JsonObject } from '@noetl/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPythonTool } from './python.js';
import type { ToolResult } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

const python = createPythonTool();

function run(code: string, input: JsonObject = {}, config: JsonObject = {}): Promise<ToolResult> {
  return python.run(toolCall({ kind: 'python', code, ...config }, { input, context: { start: { data: { n: 7 } } } }));
}

async function dataOf(code: string, input: JsonObject = {}, config: JsonObject = {}): Promise<Json | undefined> {
  const result = await run(code, input, config);
  expect(result.error).toBeUndefined();
  expect(result.status).toBe('success');
  return result.data;
}

describe('what a python step sees', () => {
  it('every input key as a global', async () => {
    expect(await dataOf('result = a + b', { a: 2, b: 3 })).toBe(5);
  });

  it('all inputs as input_data and args', async () => {
    expect(await dataOf('result = [input_data["a"], args["a"]]', { a: 1 })).toEqual([1, 1]);
  });

  it('an input called input_data instead of the built-in one', async () => {
    expect(await dataOf('result = input_data', { input_data: 'mine' })).toBe('mine');
  });

  it('the context as context and variables', async () => {
    expect(await dataOf('result = [context["start"]["data"]["n"], variables["start"]["data"]["n"]]')).toEqual([7, 7]);
  });

  it('never the keychain', async () => {
    const call = toolCall(
      { kind: 'python', code: 'result = sorted(context)' },
      { context: { keychain: { k: 1 }, a: 1 } },
    );
    expect((await python.run(call)).data).toEqual(['a']);
  });

  it('its own identity', async () => {
    expect(await dataOf('result = [execution_id, step, command_id]')).toEqual(['325000000000000001', 'fetch', 'cmd-1']);
  });

  it('json, os, datetime and uuid without importing them', async () => {
    const code = 'result = [json.dumps([1]), os.sep, datetime.date(2024, 1, 2).isoformat(), len(str(uuid.uuid4()))]';
    expect(await dataOf(code)).toEqual(['[1]', '/', '2024-01-02', 36]);
  });

  it('libs under their aliases', async () => {
    const libs = { m: 'math', dt: { from: 'datetime', import: 'datetime' }, path: { from: 'os', import: 'path' } };
    expect(await dataOf('result = [m.sqrt(9), dt(2024, 1, 2).year, path.basename("/a/b")]', {}, { libs })).toEqual([
      3,
      2024,
      'b',
    ]);
  });

  it('nothing of a list of package names', async () => {
    expect(await dataOf('result = 1', {}, { libs: ['pandas', 'requests'] })).toBe(1);
  });

  it('installed packages, although the interpreter starts without scanning for them', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'noetl-home-'));
    try {
      const version = await dataOf('import sys\nresult = "python%d.%d" % sys.version_info[:2]');
      const packages = path.join(home, '.local', 'lib', String(version), 'site-packages');
      await mkdir(packages, { recursive: true });
      await writeFile(path.join(packages, 'installed_for_test.py'), 'answer = 42');
      const code = 'import installed_for_test\nresult = installed_for_test.answer';
      expect(await dataOf(code, {}, { env: { HOME: home } })).toBe(42);
    } finally {
      await rm(home, { recursive: true });
    }
  });

  it('the declared environment and not the one of the worker', async () => {
    process.env['WORKER_TOKEN_FOR_TEST'] = 'secret';
    try {
      const code = 'result = [os.environ.get("WORKER_TOKEN_FOR_TEST"), os.environ.get("REGION")]';
      expect(await dataOf(code, {}, { env: { REGION: 'eu', GONE: null } })).toEqual([null, 'eu']);
    } finally {
      delete process.env['WORKER_TOKEN_FOR_TEST'];
    }
  });

  it('inputs that are named like modules of the runner', async () => {
    expect(await dataOf('result = json + sys + main_', { json: 'a', sys: 'b', main_: 'c' })).toBe('abc');
  });
});

describe('what a python step answers', () => {
  it('the value of result', async () => {
    expect(await dataOf('result = {"a": [1, None, True, "é"]}')).toEqual({ a: [1, null, true, 'é'] });
  });

  it('result rather than the return value of main', async () => {
    expect(await dataOf('def main():\n  return 1\nresult = 2')).toBe(2);
  });

  it('the return value of main, its parameters bound by name', async () => {
    expect(await dataOf('def main(b, a=1, *, c=3):\n  return [a, b, c]', { a: 10, b: 20, z: 0 })).toEqual([10, 20, 3]);
  });

  it('main with everything when it takes keyword arguments', async () => {
    expect(await dataOf('def main(**inputs):\n  return inputs', { a: 1, b: 2 })).toEqual({ a: 1, b: 2 });
  });

  it('main with the inputs as one dictionary when it asks for input_data', async () => {
    expect(await dataOf('def main(input_data):\n  return input_data', { a: 1 })).toEqual({ a: 1 });
  });

  it('the value of a coroutine main', async () => {
    expect(await dataOf('import asyncio\nasync def main(a):\n  await asyncio.sleep(0)\n  return a', { a: 4 })).toBe(4);
  });

  it('main of a decorated function', async () => {
    const code = [
      'import functools',
      'def twice(f):',
      '  @functools.wraps(f)',
      '  def inner(*args, **kwargs):',
      '    return 2 * f(*args, **kwargs)',
      '  return inner',
      '@twice',
      'def main(a):',
      '  return a',
    ].join('\n');
    expect(await dataOf(code, { a: 4 })).toBe(8);
  });

  it('main when an input is called result', async () => {
    expect(await dataOf('def main(result):\n  return result["n"] + 1', { result: { n: 1 } })).toBe(2);
  });

  it('main once, also when the script guards its own call', async () => {
    const code =
      'calls = []\ndef main():\n  calls.append(1)\n  return len(calls)\nif __name__ == "__main__":\n  main()';
    expect(await dataOf(code)).toBe(1);
  });

  it('a guarded script without main', async () => {
    expect(await dataOf('if __name__ == "__main__":\n  result = 5')).toBe(5);
  });

  it('a return at the top level', async () => {
    expect(await dataOf('return {"status": "ok"}')).toEqual({ status: 'ok' });
  });

  it('a top-level return in a branch of code that rebinds its inputs', async () => {
    const code = [
      'count = count + 1',
      'label: str = "n"',
      'def shown():',
      '  return f"{label}={count}"',
      'if count > 3:',
      '  return shown()',
      'return "small"',
    ].join('\n');
    expect(await dataOf(code, { count: 3 })).toBe('n=4');
    expect(await dataOf(code, { count: 1 })).toBe('small');
  });

  it('what it printed when there is no result', async () => {
    expect(await dataOf('import sys\nprint("out")\nprint("err", file=sys.stderr)')).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('the result beside what it printed', async () => {
    const result = await run('print("hello")\nresult = 1');
    expect(result).toMatchObject({ status: 'success', data: 1, stdout: 'hello\n', exit_code: 0 });
  });

  it('integers beyond 2^53 unharmed, both ways', async () => {
    expect(await dataOf('result = big + 1', { big: 9007199254740993n })).toBe(9007199254740994n);
  });

  it('null for what JSON has no number for', async () => {
    expect(await dataOf('result = [float("nan"), float("inf"), 1.5, {"x": float("-inf")}]')).toEqual([
      null,
      null,
      1.5,
      { x: null },
    ]);
  });

  it('text for what JSON does not know', async () => {
    expect(await dataOf('result = {"d": datetime.date(2024, 1, 2), (1, 2): "k"}')).toEqual({
      d: '2024-01-02',
      '(1, 2)': 'k',
    });
  });

  it('its result also after sys.exit(0)', async () => {
    expect(await dataOf('import sys\nresult = 3\nsys.exit(0)')).toBe(3);
  });

  it('a result of several megabytes', async () => {
    expect(await dataOf('result = "x" * 3_000_000')).toHaveLength(3_000_000);
  });
});

describe('how a python step fails', () => {
  it('with the type, the message and the line in the code of the step', async () => {
    const result = await run('a = 1\n\nraise ValueError("bad amount")');
    expect(result).toMatchObject({
      status: 'error',
      error: 'ValueError: bad amount (line 3)',
      exit_code: 1,
      error_info: {
        kind: 'schema',
        retryable: false,
        code: 'PY_ValueError',
        exception_type: 'ValueError',
        details: { line: 3, message: 'bad amount', type: 'ValueError' },
      },
    });
    expect(result.error_info?.details?.['traceback']).toContain('raise ValueError("bad amount")');
    expect(result.error_info?.details?.['traceback']).not.toContain('runner.py');
  });

  it('with the line inside a code block that has a top-level return', async () => {
    expect((await run('x = 1\nif x:\n  1 / 0\nreturn x')).error).toBe('ZeroDivisionError: division by zero (line 3)');
  });

  it('as a parse error when JSON is broken', async () => {
    const result = await run('json.loads("{")');
    expect(result.error_info).toMatchObject({ kind: 'parse', code: 'PY_JSONDecodeError' });
  });

  it('when the code is not python', async () => {
    const result = await run('x = (1');
    expect(result.error_info).toMatchObject({ code: 'PY_SyntaxError', details: { line: 1 } });
  });

  it('when a library is missing', async () => {
    const result = await run('result = 1', {}, { libs: { x: 'no_such_module_here' } });
    expect(result.error).toContain("No module named 'no_such_module_here'");
  });

  it('with the exit code of the script', async () => {
    const result = await run('import sys\nprint("so far")\nsys.exit(3)');
    expect(result).toMatchObject({
      status: 'error',
      error: 'Python script exited with code 3',
      exit_code: 3,
      data: { stdout: 'so far\n', stderr: '' },
    });
  });

  it('when the process dies without a word', async () => {
    const result = await run('import os, signal\nos.kill(os.getpid(), signal.SIGKILL)');
    expect(result).toMatchObject({ status: 'error', error: 'Python process was killed by SIGKILL' });
  });

  it('when the result contains itself', async () => {
    const result = await run('result = []\nresult.append(result)');
    expect(result).toMatchObject({ status: 'error', error_info: { code: 'PY_RecursionError' } });
  });

  it('by time-out', async () => {
    const result = await run('import time\nprint("began", flush=True)\ntime.sleep(300)', {}, { timeout: 0.5 });
    expect(result).toMatchObject({
      status: 'timeout',
      error: 'Execution timed out after 0.5 seconds',
      duration_ms: 500,
      stdout: 'began\n',
      error_info: { kind: 'timeout', retryable: true, code: 'PY_TIMEOUT' },
    });
  });

  it('when the interpreter does not exist', async () => {
    await expect(run('result = 1', {}, { python: '/no/such/python' })).rejects.toThrow(
      'Process error: cannot start /no/such/python',
    );
  });

  it('when there is no code', async () => {
    await expect(python.run(toolCall({ kind: 'python' }))).rejects.toThrow('Invalid python config: code is required');
  });
});

describe('where the code of a python step comes from', () => {
  let root = '';
  beforeAll(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'noetl-scripts-'));
    await writeFile(path.join(root, 'hello.py'), 'result = "hello " + name');
    await symlink('/etc/hostname', path.join(root, 'link.py'));
  });
  afterAll(() => rm(root, { recursive: true }));

  const script = (uri: string): JsonObject => ({ kind: 'python', script: { uri, source: { type: 'file' } } });

  it('base64', async () => {
    const code_b64 = Buffer.from('result = "é"').toString('base64');
    expect((await python.run(toolCall({ kind: 'python', code_b64 }))).data).toBe('é');
  });

  it('an inline script', async () => {
    const config = { kind: 'python', script: { uri: 'inline', source: { type: 'inline', code: 'result = 9' } } };
    expect((await python.run(toolCall(config))).data).toBe(9);
  });

  it('a file in the script directory', async () => {
    const tool = createPythonTool({ scriptRoot: root });
    expect((await tool.run(toolCall(script('hello.py'), { input: { name: 'Ada' } }))).data).toBe('hello Ada');
  });

  it.each(['../../etc/hostname', '/etc/hostname', 'link.py'])('no file outside of it: %s', async (uri) => {
    const tool = createPythonTool({ scriptRoot: root });
    await expect(tool.run(toolCall(script(uri)))).rejects.toThrow(/outside|cannot read/);
  });

  it('no file at all when the worker has no script directory', async () => {
    await expect(python.run(toolCall(script('hello.py')))).rejects.toThrow('no script directory');
  });
});
