import { parseJson } from '@noetl/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { always, dataOf, failing, noop, policy, run, when } from './sequence.fixture.js';

describe('without a matching rule', () => {
  const never = when(false, { do: 'break' });

  it('a success goes on', async () => {
    expect(await dataOf([{ a: noop(1, policy(never)) }, { b: noop(2) }])).toMatchObject({ a: 1, b: 2 });
  });

  it('an error fails', async () => {
    expect(await run([{ a: failing(policy(never)) }, { b: noop(2) }])).toMatchObject({
      status: 'error',
      data: { failed_task: 0 },
    });
  });
});

describe('the shapes of a rule', () => {
  it.each([
    ['when and then', '{"when": "{{ output.data == 1 }}", "then": {"do": "break"}}'],
    ['a condition without braces', '{"when": "output.data == 1", "then": {"do": "break"}}'],
    ['a boolean', '{"when": true, "then": {"do": "break"}}'],
    ['then alone', '{"then": {"do": "break"}}'],
    ['else with then', '{"else": {"then": {"do": "break"}}}'],
    ['else with do', '{"else": {"do": "break"}}'],
    ['else with do and set', '{"else": {"do": "break", "set": {"ctx.x": 1}}}'],
    ['else beside a condition that does not hold', '{"when": false, "else": {"do": "break"}}'],
    ['an empty else beside then', '{"else": null, "then": {"do": "break"}}'],
    ['the older expr', '{"expr": "{{ output.data == 1 }}", "do": "break"}'],
  ])('%s', async (_shape, rule) => {
    const data = await dataOf([{ a: noop(1, policy(parseJson(rule))) }, { b: noop(2) }]);
    expect(data['_pipeline']).toEqual(['a']);
  });

  it('the older list under eval', async () => {
    const rules = [parseJson('{"expr": "{{ output.ok }}", "do": "break"}')];
    expect((await dataOf([{ a: noop(1, { eval: rules }) }, { b: noop(2) }]))['_pipeline']).toEqual(['a']);
  });

  it('the first that matches wins', async () => {
    const rules = [when(false, { do: 'fail' }), always({ do: 'break' }), always({ do: 'fail' })];
    expect((await dataOf([{ a: noop(1, policy(...rules)) }, { b: noop(2) }]))['_pipeline']).toEqual(['a']);
  });
});

describe('actions', () => {
  it('continue goes on after an error', async () => {
    expect(await dataOf([{ a: failing(policy(always({ do: 'continue' }))) }, { b: noop(2) }])).toMatchObject({
      a: { exit_code: 3 },
      b: 2,
      _pipeline: ['a', 'b'],
    });
  });

  it('break ends with success, also after an error', async () => {
    const data = await dataOf([{ a: failing(policy(always({ do: 'break' }))) }, { b: noop(2) }]);
    expect(data).toMatchObject({ a: { exit_code: 3 }, _pipeline: ['a'] });
  });

  it('fail ends a success with an error that says so', async () => {
    expect(await run([{ a: noop(1) }, { b: noop(2, policy(always({ do: 'fail' }))) }])).toMatchObject({
      status: 'error',
      error: "policy rule triggered fail for task[1] 'b'",
      error_info: { code: 'POLICY_FAIL', retryable: false },
      data: { labeled_results: { a: 1, b: 2 }, failed_task: 1 },
    });
  });

  it('fail keeps the error of the task', async () => {
    const result = await run([{ a: failing(policy(always({ do: 'fail' }))) }]);
    expect(result).toMatchObject({ error: 'Command exited with code 3', error_info: { code: 'EXIT_3' } });
  });

  it('jump skips what lies between', async () => {
    const tasks = [{ a: noop(1, policy(always({ do: 'jump', to: 'c' }))) }, { b: failing() }, { c: noop(3) }];
    expect((await dataOf(tasks))['_pipeline']).toEqual(['a', 'c']);
  });

  it.each(['previous', 'prev', '_previous', '@previous'])('jump goes back to %s', async (to) => {
    const again = when('{{ ctx.n < 3 }}', { do: 'jump', to });
    const count = noop(1, { set: { 'ctx.n': '{{ (ctx.n | default(0)) + 1 }}' } });
    const data = await dataOf([{ count }, { check: noop('{{ ctx.n }}', policy(again)) }]);
    expect(data).toMatchObject({ check: 3, _pipeline: ['count', 'check'] });
  });

  it('jump back moves a task to the end of the order they finished in', async () => {
    const twice = when('{{ _prev == 2 }}', { do: 'break' });
    const first = noop('{{ b | default(1) }}', policy(twice));
    const tasks = [{ a: first }, { b: noop(2, policy(always({ do: 'jump', to: 'a' }))) }];
    expect(await dataOf(tasks)).toMatchObject({ a: 2, _pipeline: ['b', 'a'] });
  });

  it.each(['nowhere', 'previous', ''])('jump to %o fails when there is no such task', async (to) => {
    expect(await run([{ a: noop(1, policy(always({ do: 'jump', to }))) }])).toMatchObject({
      status: 'error',
      error: `task 'a': jump target '${to}' not found`,
      error_info: { kind: 'configuration' },
    });
  });
});

describe('a loop without an end', () => {
  const forever = [{ a: noop(1, policy(always({ do: 'jump', to: 'a' }))) }];

  it('is stopped by the limit on executions', async () => {
    expect(await run(forever, { options: { maxExecutions: 50 } })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('max_iterations_exceeded'),
      error_info: { code: 'MAX_ITERATIONS_EXCEEDED' },
    });
  });

  it('is limited by the environment of the worker', async () => {
    vi.stubEnv('NOETL_TASK_SEQUENCE_MAX_ITERATIONS', '5');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    expect((await run(forever)).error).toContain('more than 5 task executions');
  });

  it('runs exactly as often as the limit says', async () => {
    const count = noop(1, { set: { n: '{{ (n | default(0)) + 1 }}' }, ...policy(always({ do: 'jump', to: 'a' })) });
    const result = await run([{ a: count }], { options: { maxExecutions: 7 } });
    expect(result.data).toMatchObject({ _context_updates: { n: 7 } });
  });

  it('leaves the event loop free, so that an abort reaches it', async () => {
    const controller = new AbortController();
    const ended = run(forever, { signal: controller.signal });
    setImmediate(() => controller.abort(new Error('cancelled')));
    await expect(ended).rejects.toThrow('cancelled');
  });
});
