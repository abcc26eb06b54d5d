// The dialects: every spelling of a playbook and the one model it becomes.
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from './diagnostics.js';
import type { Playbook, Step, Task } from './model.js';
import { parsePlaybook } from './parse.js';
import { playbookPool } from './pool.js';

const HEADER = 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: samples/demo }\n';

function parse(text: string): Playbook {
  const { playbook, diagnostics } = parsePlaybook(text);
  const errors = diagnostics.filter((d) => d.severity === 'error');
  expect(errors.map((d) => formatDiagnostic(d))).toEqual([]);
  if (playbook === undefined) throw new Error('no playbook');
  return playbook;
}

function only<T>(items: readonly T[]): T {
  const [first] = items;
  if (first === undefined || items.length !== 1) throw new Error(`expected one item, found ${items.length}`);
  return first;
}

/** The step `s` with the given YAML body, beside two steps it may route to. */
function step(body: string, extra = ''): Step {
  const playbook = parse(
    `${HEADER}${extra}workflow:\n- step: s\n${body}\n- step: a\n  tool: { kind: noop }\n- step: b\n  tool: { kind: noop }\n`,
  );
  const [first] = playbook.steps;
  if (first === undefined) throw new Error('no step');
  return first;
}

function task(tool: string, extra = ''): Task {
  const { tool: parsed } = step(`  tool: ${tool}`, extra);
  return parsed.type === 'single' ? parsed.task : only(parsed.tasks);
}

const NOOP = '  tool: { kind: noop }\n';

describe('header', () => {
  it('reads metadata, stringifies labels as written and keeps other keys', () => {
    const { metadata } = parse(
      'apiVersion: noetl.io/v10\nkind: playbook\nmetadata:\n  name: n\n  labels: { rev: 1.10, live: true }\n  tags: [x]\nworkflow: [{ step: a, tool: { kind: noop } }]\n',
    );

    expect(metadata).toEqual({ name: 'n', path: 'n', labels: { rev: '1.10', live: 'true' }, extra: { tags: ['x'] } });
  });

  it('reads kind Agent in any case', () => {
    expect(parse(`${HEADER.replace('Playbook', 'agent')}workflow: [{ step: a, tool: { kind: noop } }]`).kind).toBe(
      'Agent',
    );
  });

  it('puts root vars under the workload', () => {
    const { workload } = parse(
      `${HEADER}vars: { x: 1, y: 1 }\nworkload: { y: 2 }\nworkflow: [{ step: a, tool: { kind: noop } }]`,
    );

    expect(workload).toEqual({ x: 1, y: 2 });
  });

  it('reads the keychain', () => {
    const { keychain } = parse(
      `${HEADER}keychain: [{ name: api, kind: bearer }]\nworkflow: [{ step: a, tool: { kind: noop } }]`,
    );

    expect(keychain).toEqual([{ name: 'api', config: { kind: 'bearer' } }]);
  });

  it.each([
    ['executor: { spec: { entry_step: b, final_step: a, no_next_is_error: true } }\n', 'b'],
    ['', 'start'],
  ])('finds the entry step (%j)', (executor, entry) => {
    const steps = ['a', 'b', 'start'].map((name) => `- { step: ${name}, tool: { kind: noop } }\n`).join('');

    expect(parse(`${HEADER}${executor}workflow:\n${steps}`).executor.entryStep).toBe(entry);
  });

  it('enters at the first step when none is named start', () => {
    expect(parse(`${HEADER}workflow: [{ step: x, tool: { kind: noop } }]`).executor).toEqual({
      entryStep: 'x',
      noNextIsError: false,
    });
  });

  it('keeps integers beyond 2^53 exact', () => {
    const text = `${HEADER}workload: { id: 323456789012345678, neg: -9007199254740993, small: 7, f: 1e3 }\nworkflow: [{ step: x, tool: { kind: noop } }]`;

    expect(parse(text).workload).toEqual({ id: 323456789012345678n, neg: -9007199254740993n, small: 7, f: 1000 });
  });

  it('resolves anchors, aliases and merge keys', () => {
    const text = `${HEADER}workload: { base: &b { x: 1, y: 2 }, copy: *b, more: { <<: *b, y: 3 } }\nworkflow: [{ step: x, tool: { kind: noop } }]`;

    expect(parse(text).workload).toEqual({ base: { x: 1, y: 2 }, copy: { x: 1, y: 2 }, more: { x: 1, y: 3 } });
  });

  it('takes `<<` for a merge key only when it brings in maps', () => {
    const text = `${HEADER}workload: { a: { <<: text }, b: { "<<": { x: 1 } } }\nworkflow: [{ step: x, tool: { kind: noop } }]`;

    expect(parse(text).workload).toEqual({ a: { '<<': 'text' }, b: { '<<': { x: 1 } } });
  });

  it('keeps a key named __proto__ as data', () => {
    const { workload } = parse(
      `${HEADER}workload: { __proto__: { polluted: true } }\nworkflow: [{ step: x, tool: { kind: noop } }]`,
    );

    expect(Object.keys(workload)).toEqual(['__proto__']);
    expect((workload as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('tool', () => {
  it('reads a single tool', () => {
    expect(step('  tool: { kind: http, url: x, input: { a: 1 }, set: { r: 1 } }').tool).toEqual({
      type: 'single',
      task: {
        label: 's',
        kind: 'http',
        config: { url: 'x' },
        input: { a: 1 },
        set: { r: 1 },
        policy: [],
        at: { line: 6, column: 9 },
      },
    });
  });

  it('reads flat pipeline items, naming the unnamed ones by index', () => {
    const { tool } = step('  tool:\n  - { name: f, kind: http, url: x }\n  - { kind: noop }');

    expect(tool.type === 'pipeline' && tool.tasks.map((t) => [t.label, t.kind])).toEqual([
      ['f', 'http'],
      ['task_1', 'noop'],
    ]);
  });

  it('reads label-as-key pipeline items', () => {
    const { tool } = step('  tool:\n  - f: { kind: http, url: x }');

    expect(tool.type === 'pipeline' && tool.tasks.map((t) => [t.label, t.config])).toEqual([['f', { url: 'x' }]]);
  });

  it('lifts configuration out of tool.spec, the tool itself winning', () => {
    const result = task(
      '{ kind: http, method: GET, spec: { method: POST, endpoint: e, input: { a: 1 }, timeout: 5, result: { scope: step } } }',
    );

    expect(result).toMatchObject({
      config: { method: 'GET', endpoint: 'e' },
      input: { a: 1 },
      timeoutSeconds: 5,
      output: { scope: 'step' },
    });
  });

  it('leaves a timeout with phases to the tool', () => {
    const result = task('{ kind: http, spec: { timeout: { connect: 5, read: 20 } } }');

    expect(result.config).toEqual({ timeout: { connect: 5, read: 20 } });
    expect(result.timeoutSeconds).toBeUndefined();
  });

  it.each([
    ['"1.5"', 1.5],
    ['5m', 300],
    ['"{{ t }}"', '{{ t }}'],
  ])('reads timeout %s', (written, seconds) => {
    expect(task(`{ kind: http, spec: { timeout: ${written} } }`).timeoutSeconds).toBe(seconds);
  });

  it('reads args as input, and input over args', () => {
    expect(task('{ kind: python, args: { a: 1, b: 1 }, input: { b: 2 } }').input).toEqual({ a: 1, b: 2 });
  });

  it('keeps the command line of a container in its configuration', () => {
    expect(task('{ kind: container, args: ["-v"], input: { a: 1 } }')).toMatchObject({
      config: { args: ['-v'] },
      input: { a: 1 },
    });
  });

  it('keeps a single tool with a policy single', () => {
    expect(step('  tool: { kind: http, spec: { policy: { rules: [{ else: { do: fail } }] } } }').tool).toMatchObject({
      type: 'single',
      task: { policy: [{ action: 'fail' }], config: {} },
    });
  });

  it('merges step output under tool output', () => {
    const parsed = step('  output: { scope: step, ttl: 1 }\n  tool: { kind: noop, output: { ttl: 2 } }');

    expect(parsed.output).toEqual({ scope: 'step', ttl: 2 });
    expect(parsed.tool).toMatchObject({ task: { output: { scope: 'step', ttl: 2 } } });
  });
});

describe('workbook', () => {
  const list = 'workbook: [{ name: w, tool: { kind: python, code: c, input: { x: 1, y: 1, z: 1 } } }]\n';

  it.each([
    ['list', list],
    ['map', 'workbook: { tasks: { w: { kind: python, code: c, input: { x: 1, y: 1, z: 1 } } } }\n'],
  ])('resolves a step tool from the %s form', (_, workbook) => {
    expect(task('{ kind: workbook, name: w, input: { x: 2 } }', workbook)).toMatchObject({
      label: 's',
      kind: 'python',
      config: { code: 'c' },
      input: { x: 2, y: 1, z: 1 },
    });
  });

  it('resolves pipeline items', () => {
    const { tool } = step('  tool:\n  - { name: w, kind: workbook }\n  - { name: l, kind: workbook, task: w }', list);

    expect(tool.type === 'pipeline' && tool.tasks.map((t) => [t.label, t.kind])).toEqual([
      ['w', 'python'],
      ['l', 'python'],
    ]);
  });

  it('lets step input override the defaults of the workbook task, and tool input override both', () => {
    const { tool } = step('  input: { x: 3, y: 3 }\n  tool: { kind: workbook, name: w, input: { x: 2 } }', list);

    expect(tool).toMatchObject({ task: { input: { x: 2, y: 3, z: 1 } } });
  });
});

describe('policy', () => {
  const rule = (yaml: string) => only(task(`{ kind: http, spec: { policy: { rules: [${yaml}] } } }`).policy);
  const always = { action: 'continue', attempts: 3, backoff: 'none', delaySeconds: 1, set: {} };

  it.each([
    ['when and then', '{ when: "{{ x }}", then: { do: continue } }', { ...always, when: '{{ x }}' }],
    ['boolean when', '{ when: true, then: { do: continue } }', { ...always, when: true }],
    ['else.then', '{ else: { then: { do: continue } } }', always],
    ['else with do and set', '{ else: { do: continue, set: { ctx.a: 1 } } }', { ...always, set: { 'ctx.a': 1 } }],
    ['else with do', '{ else: { do: continue } }', always],
    ['empty else beside then', '{ else: null, then: { do: continue } }', always],
    ['then alone', '{ then: { do: continue } }', always],
  ])('reads a rule with %s', (_, yaml, expected) => {
    expect(rule(yaml)).toEqual(expected);
  });

  it('reads retry settings', () => {
    expect(rule('{ when: "{{ x }}", then: { do: retry, attempts: 5, backoff: exponential, delay: "0.5" } }')).toEqual({
      when: '{{ x }}',
      action: 'retry',
      attempts: 5,
      backoff: 'exponential',
      delaySeconds: 0.5,
      set: {},
    });
  });

  it.each([
    ['{ do: retry, backoff: fixed, delay: 2 }', 'constant'],
    ['{ do: retry, delay: 2 }', 'constant'],
    ['{ do: retry, backoff: none, delay: 2 }', 'none'],
  ])('reads the backoff of %s', (then, backoff) => {
    expect(rule(`{ then: ${then} }`).backoff).toBe(backoff);
  });

  it('translates legacy set forms', () => {
    expect(rule('{ then: { do: continue, set_ctx: { a: 1 }, set_iter: { b: 2 }, set_vars: { c: 3 } } }').set).toEqual({
      'ctx.a': 1,
      'iter.b': 2,
      'ctx.c': 3,
    });
  });

  it('translates eval into rules', () => {
    const { policy } = task(
      '{ kind: http, eval: [{ expr: "{{ e }}", do: jump, target: s, set_vars: { v: 1 } }, { else: { do: fail } }] }',
    );

    expect(policy).toEqual([
      { ...always, when: '{{ e }}', action: 'jump', to: 's', set: { 'ctx.v': 1 } },
      { ...always, action: 'fail' },
    ]);
  });
});

describe('next', () => {
  const next = (yaml: string, spec = '') => {
    const { mode, arcs, declared } = step(`${NOOP}${spec}  next: ${yaml}`).next;
    return { mode, declared, arcs: arcs.map(({ at: _, ...arc }) => arc) };
  };
  const to = (name: string) => ({ to: name, set: {}, args: {} });

  it.each([
    ['a string', 'a', 'exclusive', [to('a')]],
    ['a list of strings', '[a, b]', 'inclusive', [to('a'), to('b')]],
    [
      'a list of maps',
      '[{ step: a, when: "{{ x }}" }, { step: b, args: { k: 1 } }]',
      'exclusive',
      [
        { ...to('a'), when: '{{ x }}' },
        { ...to('b'), args: { k: 1 } },
      ],
    ],
    ['one map', '{ step: a, when: "{{ x }}" }', 'exclusive', [{ ...to('a'), when: '{{ x }}' }]],
    [
      'a router',
      '{ spec: { mode: Inclusive }, arcs: [{ step: a, set: { ctx.x: 1 } }, { step: end }] }',
      'inclusive',
      [{ ...to('a'), set: { 'ctx.x': 1 } }, to('end')],
    ],
    ['an empty list', '[]', 'exclusive', []],
  ])('reads %s', (_, yaml, mode, arcs) => {
    expect(next(yaml)).toEqual({ mode, arcs, declared: true });
  });

  it('takes the mode of list forms from spec.next_mode', () => {
    expect(next('[{ step: a }, { step: b }]', '  spec: { next_mode: inclusive }\n').mode).toBe('inclusive');
  });

  it('lets the router mode win over spec.next_mode', () => {
    expect(next('{ spec: { mode: exclusive }, arcs: [{ step: a }] }', '  spec: { next_mode: inclusive }\n').mode).toBe(
      'exclusive',
    );
  });

  it.each([NOOP, `${NOOP}  next:\n`])('a step without targets is a leaf (%j)', (body) => {
    expect(step(body).next).toEqual({ mode: 'exclusive', arcs: [], declared: false });
  });
});

describe('step', () => {
  it('reads legacy vars as set, and set over vars', () => {
    expect(step(`${NOOP}  vars: { x: 1, y: 1 }\n  set: { ctx.y: 2 }`).set).toEqual({ 'ctx.x': 1, 'ctx.y': 2 });
  });

  it('reads guards', () => {
    const parsed = step(
      `${NOOP}  when: ctx.ok\n  spec: { policy: { admit: { rules: [{ when: "{{ x }}", then: { allow: true } }, { else: { then: { allow: false } } }] } } }`,
    );

    expect(parsed.when).toBe('ctx.ok');
    expect(parsed.admit).toEqual([{ when: '{{ x }}', allow: true }, { allow: false }]);
  });

  it('reads the spec', () => {
    const { spec } = step(
      `${NOOP}  spec: { timeout: 30s, on_error: retry, max_attempts: 4, idempotent: false, policy: { failure: { mode: fail_fast } } }`,
    );

    expect(spec).toEqual({ timeoutSeconds: 30, onError: 'retry', maxAttempts: 4, idempotent: false, failFast: true });
  });

  it('has a spec by default', () => {
    expect(step(NOOP).spec).toEqual({ onError: 'fail', idempotent: true, failFast: false });
  });

  it('reads emit', () => {
    expect(
      step(`${NOOP}  emit: [{ type: order.paid, object: { type: order, id: 7 }, patch: { paid: true } }]`).emit,
    ).toEqual([{ type: 'order.paid', objectType: 'order', objectId: 7, patch: { paid: true }, as: 'item' }]);
  });
});

describe('loop', () => {
  const loop = (yaml: string) => step(`${NOOP}  loop: ${yaml}`).loop;

  it('reads a collection loop', () => {
    expect(
      loop(
        '{ in: "{{ xs }}", iterator: x, spec: { mode: parallel, max_in_flight: "{{ n }}", policy: { on_error: continue } } }',
      ),
    ).toEqual({
      iterator: 'x',
      mode: 'parallel',
      in: '{{ xs }}',
      maxInFlight: '{{ n }}',
      onError: 'continue',
      frame: {},
    });
  });

  it.each([
    ['[1, 2]', [1, 2]],
    ['3', 3],
  ])('accepts the literal collection %s', (written, value) => {
    expect(loop(`{ in: ${written}, iterator: x }`)).toEqual({
      iterator: 'x',
      mode: 'sequential',
      in: value,
      onError: 'stop',
      frame: {},
    });
  });

  it('reads a cursor loop', () => {
    expect(
      loop(
        '{ cursor: { kind: postgres, claim: "SELECT 1" }, iterator: r, spec: { mode: cursor, frame: { max_rows: 5 } } }',
      ),
    ).toEqual({
      iterator: 'r',
      mode: 'cursor',
      onError: 'stop',
      cursor: { kind: 'postgres', claim: 'SELECT 1' },
      frame: { max_rows: 5 },
    });
  });
});

describe('playbookPool', () => {
  it.each([
    ['system/outbox', 'system'],
    ['subscription/x', 'subscription'],
    ['systems/x', 'shared'],
  ])('%s runs in pool %s', (path, pool) => {
    expect(playbookPool(path)).toBe(pool);
  });
});
