import { describe, expect, it } from 'vitest';
import { always, dataOf, failing, noop, policy, run, when } from './sequence.fixture.js';

describe('set of a task', () => {
  it.each([
    ['ctx.x', '{{ ctx.x }}'],
    ['ctx.x', '{{ x }}'],
    ['ctx.a.b', '{{ ctx.a.b }}'],
    ['iter.page', '{{ iter.page }}'],
    ['step.n', '{{ step.n }}'],
    ['bare', '{{ bare }}'],
    ['deep.er', '{{ deep.er }}'],
  ])('%s is read as %s', async (key, template) => {
    const tasks = [{ a: noop({ v: 1 }, { set: { [key]: '{{ output.v }}' } }) }, { b: noop(template) }];
    expect(await dataOf(tasks)).toMatchObject({ b: 1 });
  });

  it('leaves ctx and bare keys for the execution, not those of iter and step', async () => {
    const set = { 'ctx.a.b': 1, bare: '{{ output }}', 'iter.i': 3, 'step.s': 4 };
    expect((await dataOf([{ a: noop('raw', { set }) }]))['_context_updates']).toEqual({ 'ctx.a.b': 1, bare: 'raw' });
  });

  it('adds to what a scope held before without changing it', async () => {
    const context = { ctx: { a: { old: 1 }, other: 2 } };
    const tasks = [{ a: noop(1, { set: { 'ctx.a.new': 3 } }) }, { b: noop('{{ [ctx.a, ctx.other] }}') }];
    expect(await dataOf(tasks, { context })).toMatchObject({ b: [{ old: 1, new: 3 }, 2] });
    expect(context).toEqual({ ctx: { a: { old: 1 }, other: 2 } });
  });

  it('hides the older value of a name the command brought', async () => {
    const tasks = [{ a: noop(1, { set: { 'ctx.x': 'new' } }) }, { b: noop('{{ x }}') }];
    expect(await dataOf(tasks, { context: { x: 'old', ctx: { x: 'old' } } })).toMatchObject({ b: 'new' });
  });

  it('of ctx does not hide an input of the step', async () => {
    const tasks = [{ a: noop(1, { set: { 'ctx.x': 'new' } }) }, { b: noop('{{ [x, ctx.x] }}') }];
    expect(await dataOf(tasks, { input: { x: 'input' } })).toMatchObject({ b: ['input', 'new'] });
  });

  it('sees the context as it was before', async () => {
    const set = { 'ctx.x': 2, 'ctx.y': '{{ ctx.x }}' };
    const data = await dataOf([{ a: noop(1, { set }) }], { context: { ctx: { x: 1 } } });
    expect(data['_context_updates']).toEqual({ 'ctx.x': 2, 'ctx.y': 1 });
  });

  it('reads the bare result, also where the envelope has a field of that name', async () => {
    const data = await dataOf([{ a: noop({ status: 'mine', error: 'e' }, { set: { s: '{{ output.status }}' } }) }]);
    expect(data['_context_updates']).toEqual({ s: 'mine' });
  });

  it('does not run when the task failed', async () => {
    const task = failing({ set: { 'ctx.code': '{{ output.exit_code }}' }, ...policy(always({ do: 'continue' })) });
    expect(await dataOf([{ a: task }])).not.toHaveProperty('_context_updates');
  });

  it('cannot reach the prototype of anything', async () => {
    await dataOf([{ a: noop(1, { set: { 'ctx.__proto__.polluted': true, '__proto__.polluted': true } }) }]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('set of a rule', () => {
  it('reads the envelope, comes after the set of the task and before the action', async () => {
    const rule = when("{{ output.status == 'success' and ctx.n == 1 }}", {
      do: 'jump',
      to: '{{ ctx.where }}',
      set: { 'ctx.where': 'c', 'ctx.s': '{{ output.status }}' },
    });
    const tasks = [
      { a: noop(1, { set: { 'ctx.n': '{{ output }}' }, ...policy(rule) }) },
      { b: failing() },
      { c: noop(3) },
    ];
    const data = await dataOf(tasks);
    expect(data).toMatchObject({
      _pipeline: ['a', 'c'],
      _context_updates: { 'ctx.n': 1, 'ctx.where': 'c', 'ctx.s': 'ok' },
    });
  });

  it('may be written as set_ctx and set_iter', async () => {
    const rule = always({ do: 'continue', set_ctx: { a: 1 }, set_iter: { b: 2 } });
    const data = await dataOf([{ a: noop(1, policy(rule)) }, { b: noop('{{ [ctx.a, iter.b] }}') }]);
    expect(data).toMatchObject({ b: [1, 2], _context_updates: { 'ctx.a': 1 } });
  });

  it('survives a failure of the sequence', async () => {
    const rule = always({ do: 'fail', set: { 'ctx.why': '{{ output.error.code }}' } });
    const result = await run([{ a: failing(policy(rule)) }]);
    expect(result).toMatchObject({ status: 'error', data: { _context_updates: { 'ctx.why': 'EXIT_3' } } });
  });
});
