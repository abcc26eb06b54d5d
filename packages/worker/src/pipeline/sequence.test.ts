import type { JsonObject } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { always, dataOf, failing, noop, policy, run, when } from './sequence.fixture.js';

describe('a list of tasks', () => {
  it('answers with the data of each task under its label and the order they finished in', async () => {
    const data = await dataOf([{ a: noop(1) }, { b: noop({ x: 2 }) }]);
    expect(data).toEqual({ a: 1, b: { x: 2 }, _pipeline: ['a', 'b'] });
  });

  it('keeps the order of labels that look like numbers', async () => {
    expect((await dataOf([{ '2': noop('x') }, { '1': noop('y') }]))['_pipeline']).toEqual(['2', '1']);
  });

  it('may come with names, or without', async () => {
    const data = await dataOf([{ name: 'first', ...noop(1) }, noop('{{ first + 1 }}')]);
    expect(data).toEqual({ first: 1, task_1: 2, _pipeline: ['first', 'task_1'] });
  });

  it('may come under `tasks`', async () => {
    const config = { kind: 'task_sequence', tasks: [{ a: noop(1) }] };
    expect(await dataOf(null, { config })).toMatchObject({ a: 1 });
  });

  it('carries what the last task printed', async () => {
    const result = await run([{ a: noop(1) }, { b: { kind: 'shell', command: 'echo hi' } }]);
    expect(result).toMatchObject({ status: 'success', stdout: 'hi\n', exit_code: 0 });
  });

  it.each<[string, unknown]>([
    ['nothing', []],
    ['text', ['a']],
    ['two labels in one item', [{ a: noop(1), b: noop(1) }]],
    ['no kind', [{ a: { result: 1 } }]],
    ['the same label twice', [{ a: noop(1) }, { a: noop(2) }]],
    ['a list inside a list', [{ a: { kind: 'task_sequence', tasks: [] } }]],
    ['an unknown action', [{ a: noop(1, policy(always({ do: 'explode' }))) }]],
  ])('is refused when it holds %s', async (_what, tasks) => {
    await expect(run(tasks as JsonObject[])).rejects.toThrow('Configuration error: Invalid task_sequence config');
  });

  it('is refused before anything runs when a template does not parse', async () => {
    await expect(run([{ a: failing() }, { b: noop('{{ 1 + }}') }])).rejects.toThrow("Template error: task 'b': result");
  });

  it('fails at the first task that fails, with its error and what was there already', async () => {
    const result = await run([{ a: noop(1) }, { b: failing() }, { c: noop(3) }]);
    expect(result).toMatchObject({
      status: 'error',
      error: 'Command exited with code 3',
      error_info: { kind: 'process', code: 'EXIT_3' },
      data: { labeled_results: { a: 1, b: { exit_code: 3 } }, failed_task: 1, _pipeline: ['a', 'b'] },
    });
  });

  it('fails with a tool this worker does not have', async () => {
    const result = await run([{ a: { kind: 'teleport' } }]);
    expect(result).toMatchObject({ status: 'error', error_info: { code: 'TOOL_NOT_FOUND' }, data: { failed_task: 0 } });
  });

  it('keeps the time-out of a task', async () => {
    const result = await run([{ a: { kind: 'shell', command: 'sleep 30', spec: { timeout: '{{ limit }}' } } }], {
      context: { limit: 0.1 },
    });
    expect(result).toMatchObject({ status: 'error', error: 'Execution timed out after 0.1 seconds' });
  });
});

describe('a single tool with a policy', () => {
  const single = { meta: { single: true } };

  it('answers like the plain tool', async () => {
    const result = await run([{ only: noop({ x: 1 }, policy(always({ do: 'continue' }))) }], single);
    expect(result).toMatchObject({ status: 'success', data: { x: 1 } });
    expect(result).not.toHaveProperty('context_updates');
  });

  it('hands over what its rules set', async () => {
    const rule = always({ do: 'continue', set: { 'ctx.seen': '{{ output.data.x }}' } });
    const result = await run([{ only: noop({ x: 1 }, { set: { y: '{{ output.x + 1 }}' }, ...policy(rule) }) }], single);
    expect(result).toMatchObject({ data: { x: 1 }, context_updates: { 'ctx.seen': 1, y: 2 } });
  });

  it('fails like the plain tool', async () => {
    const result = await run([{ only: failing(policy(when(false, { do: 'continue' }))) }], single);
    expect(result).toMatchObject({ status: 'error', error: 'Command exited with code 3', data: { exit_code: 3 } });
  });

  it('succeeds when a rule forgives the failure', async () => {
    const result = await run([{ only: failing(policy(always({ do: 'continue' }))) }], single);
    expect(result).toMatchObject({ status: 'success', data: { exit_code: 3 } });
    expect(result.error).toBeUndefined();
  });
});
