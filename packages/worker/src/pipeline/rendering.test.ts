import { describe, expect, it } from 'vitest';
import { always, dataOf, failing, noop, policy, run, when } from './sequence.fixture.js';

const context = {
  workload: { city: 'Oslo', n: 2 },
  ctx: { total: 5, start: { rows: [7] } },
  start: { rows: [7] },
  iter: { item: 'a' },
  args: { sent: 'by arc' },
};

async function rendered(template: unknown, before: string[] = []): Promise<unknown> {
  const tasks = before.map((value, index) => ({ [`t${index}`]: noop(value) }));
  return (await dataOf([...tasks, { last: noop({ value: template as string }) }], { context, input: { page: 3 } }))[
    'last'
  ];
}

describe('what templates of a task see', () => {
  it.each([
    ['{{ workload.city }}', 'Oslo'],
    ['{{ start.data.rows[0] }}', 7],
    ['{{ ctx.total }}', 5],
    ['{{ ctx.city }}', 'Oslo'],
    ['{{ ctx.start.data.rows[0] }}', 7],
    ['{{ iter.item }}', 'a'],
    ['{{ page }}', 3],
    ['{{ input.page }}', 3],
    ['{{ execution_id }}', '325000000000000001'],
    ['{{ job.uuid }}', '325000000000000001'],
    ['{{ _task }}/{{ _attempt }}', 'last/1'],
    ['{{ missing }}', null],
    ['{{ [args.sent, args.page] }}', ['by arc', 3]],
  ])('%s', async (template, value) => {
    expect(await rendered(template)).toEqual({ value });
  });

  it.each(['{{ t0.x }}', '{{ t0.data.x }}', '{{ t0.result.x }}', '{{ results.t0.x }}', '{{ _prev.x }}'])(
    'the result of an earlier task as %s',
    async (template) => {
      expect(await dataOf([{ t0: noop({ x: 1 }) }, { last: noop(template) }])).toMatchObject({ last: 1 });
    },
  );

  it('the last success as _prev, not a failure after it', async () => {
    const forgiven = failing(policy(always({ do: 'continue' })));
    expect(await dataOf([{ a: noop(1) }, { b: forgiven }, { c: noop('{{ _prev }}') }])).toMatchObject({ c: 1 });
  });

  it('the time as now()', async () => {
    const options = { now: () => new Date('2025-01-02T03:04:05Z') };
    expect(await dataOf([{ a: noop('{{ now() }}') }], { options })).toMatchObject({ a: '2025-01-02T03:04:05.000Z' });
  });

  it('its own inputs, which are rendered before it', async () => {
    const task = noop('{{ [page, input.page, input.other] }}', { input: { page: '{{ page + 1 }}' } });
    expect(await dataOf([{ a: task }], { input: { page: 3, other: 'o' } })).toMatchObject({ a: [4, 4, 'o'] });
  });

  it('inputs that do not see each other', async () => {
    const task = noop('{{ [a, b] }}', { input: { a: 1, b: '{{ a }}' } });
    expect(await dataOf([{ t: task }])).toMatchObject({ t: [1, null] });
  });

  it('its own inputs also in its set and its rules', async () => {
    const rule = when('{{ page == 3 }}', { do: 'continue', set: { 'ctx.rule': '{{ input.page }}' } });
    const data = await dataOf([
      { a: noop(1, { input: { page: 3 }, set: { 'ctx.set': '{{ page }}' }, ...policy(rule) }) },
    ]);
    expect(data['_context_updates']).toEqual({ 'ctx.set': 3, 'ctx.rule': 3 });
  });

  it('not the inputs of another task', async () => {
    expect(await dataOf([{ a: noop(1, { input: { x: 1 } }) }, { b: noop('{{ [x] }}') }])).toMatchObject({ b: [null] });
  });
});

describe('rendering happens once', () => {
  const hostile = '{{ workload.secret }}';
  const secret = { workload: { secret: 's3cret', text: hostile } };

  it('not in data of the context', async () => {
    expect(await dataOf([{ a: noop('{{ workload.text }}') }], { context: secret })).toMatchObject({ a: hostile });
  });

  it('not in the result of a task, however often it is handed on', async () => {
    const tasks = [
      { a: { kind: 'shell', command: "printf '%s' '{''{ workload.secret }''}'" } },
      { b: noop('{{ x }}', { input: { x: '{{ a.stdout }}' }, set: { 'ctx.kept': '{{ output }}' } }) },
      { c: noop('{{ ctx.kept }} {{ b }}') },
    ];
    const data = await dataOf(tasks, { context: secret });
    expect(data).toMatchObject({ a: { stdout: hostile }, b: hostile, c: `${hostile} ${hostile}` });
    expect(data['_context_updates']).toEqual({ 'ctx.kept': hostile });
  });

  it('not in a rule', async () => {
    const rule = when('{{ output.data }}', { do: 'continue', set: { 'ctx.seen': '{{ output.data }}' } });
    const data = await dataOf([{ a: noop('{{ workload.text }}', policy(rule)) }], { context: secret });
    expect(data['_context_updates']).toEqual({ 'ctx.seen': hostile });
  });
});

describe('text for another interpreter', () => {
  it('a lone number in a command stays text', async () => {
    const data = await dataOf([{ a: { kind: 'shell', shell: 'echo', command: '{{ n }}' } }], { context: { n: 5 } });
    expect(data).toMatchObject({ a: { stdout: '-c 5\n' } });
  });

  it('a field of the same name inside data keeps its type', async () => {
    expect(await dataOf([{ a: noop({ code: '{{ n }}' }) }], { context: { n: 5 } })).toMatchObject({ a: { code: 5 } });
  });

  it('code is rendered when every name in it is known', async () => {
    const data = await dataOf([{ a: { kind: 'python', code: 'result = {{ n }} + 1' } }], { context: { n: 41 } });
    expect(data).toMatchObject({ a: 42 });
  });

  it('code with names of its own is left alone', async () => {
    const code = 'x = 1\nresult = f"{{{x}}} {{x}}"';
    expect(await dataOf([{ a: { kind: 'python', code } }])).toMatchObject({ a: '{1} {x}' });
  });

  it('code that also has names of its own is left alone', async () => {
    const code = 'x = 1\nresult = f"{{x}} {{n}}"';
    expect(await dataOf([{ a: { kind: 'python', code } }], { context: { n: 41 } })).toMatchObject({ a: '{x} {n}' });
  });

  it('a script gets its inputs, also those of the step', async () => {
    const task = { kind: 'python', input: { a: '{{ first.n }}' }, code: 'result = [a, b]' };
    const data = await dataOf([{ first: noop({ n: 1 }) }, { second: task }], { input: { b: 2 } });
    expect(data).toMatchObject({ second: [1, 2] });
  });

  it('a script that asks for its context finds results and ctx in it', async () => {
    const code = 'result = [context["first"]["n"], context["ctx"]["k"], context["workload"]["w"]]';
    const tasks = [{ first: noop({ n: 1 }, { set: { 'ctx.k': 2 } }) }, { second: { kind: 'python', code } }];
    expect(await dataOf(tasks, { context: { workload: { w: 3 } } })).toMatchObject({ second: [1, 2, 3] });
  });
});

describe('a template that fails', () => {
  it('is an error of the task that a rule can see', async () => {
    const rule = when("{{ output.error.kind == 'transform' }}", { do: 'continue' });
    const data = await dataOf([{ a: noop('{{ nothing + 1 }}', policy(rule)) }, { b: noop(1) }]);
    expect(data).toMatchObject({ a: null, b: 1 });
  });

  it('fails the sequence when it is in a set', async () => {
    const result = await run([{ a: noop(1, { set: { x: '{{ nothing + 1 }}' } }) }]);
    expect(result).toMatchObject({ status: 'error', error_info: { code: 'TEMPLATE_ERROR' }, data: { failed_task: 0 } });
  });

  it('does not hide the error of the task when it is in a rule', async () => {
    const result = await run([{ a: failing(policy(when('{{ nothing + 1 }}', { do: 'retry' }))) }]);
    expect(result.error).toMatch(/^Command exited with code 3 \(and its policy: Template error/);
  });
});
