// What templates see and what they leave behind: `set` in its order, the outcome, null, parents of events (dsl.md §1.12, §2.5, §5).
import { describe, expect, it } from 'vitest';
import { given } from './simulation/story.js';

const tool = 'tool: { kind: noop }';

describe('set', () => {
  it('of the step comes before its arcs are asked', () => {
    const story = given(`
  - { step: a, ${tool}, set: { ctx.n: "{{ output.data.n }}" }, next: { arcs: [{ step: b, when: "{{ ctx.n == 7 }}" }] } }
  - { step: b, ${tool} }`)
      .start()
      .does('a', { n: 7 });
    expect(story.open()).toEqual(['b']);
  });

  it('of an arc comes after the arcs were asked, and before its target is rendered', () => {
    const story = given(`
  - step: a
    ${tool}
    next:
      spec: { mode: inclusive }
      arcs: [{ step: b, set: { ctx.x: 1 } }, { step: c, when: "{{ ctx.x is defined }}" }]
  - { step: b, tool: { kind: noop, input: { x: "{{ ctx.x }}" } } }
  - { step: c, ${tool} }`)
      .start()
      .does('a');
    expect(story.open()).toEqual(['b']);
    expect(story.last('command.issued').context).toMatchObject({ args: { x: 1 } });
  });

  it('B24: of an arc is as durable as that of a step: both are events', () => {
    const story = given(`
  - { step: a, ${tool}, set: { ctx.s: 1 }, next: [{ step: b, set: { ctx.a: 2 } }] }
  - { step: b, ${tool}, next: c }
  - { step: c, tool: { kind: noop, input: { both: "{{ [ctx.s, ctx.a] }}" } } }`)
      .start()
      .does('a');
    expect(story.ledTo().slice(0, 3)).toEqual(['ctx.updated', 'ctx.updated', 'next.evaluated a']);
    story.does('b');
    expect(story.last('command.issued').context).toMatchObject({ args: { both: [1, 2] } });
  });

  it('of a target that was not chosen is not written', () => {
    const story = given(`
  - { step: a, ${tool}, next: { arcs: [{ step: b }, { step: c, set: { ctx.no: 1 } }] } }
  - { step: b, ${tool} }
  - { step: c, ${tool} }`)
      .start()
      .does('a');
    expect(story.state.ctx).toEqual({});
  });

  it('writes dotted keys into nested objects and keeps what is beside them', () => {
    const story = given(`
  - { step: a, ${tool}, set: { ctx.o.x: 1 }, next: b }
  - { step: b, ${tool}, set: { ctx.o.y: 2, bare: 3 } }`)
      .start()
      .does('a')
      .does('b');
    expect(story.state.ctx).toEqual({ o: { x: 1, y: 2 }, bare: 3 });
  });

  it('is written once when the step fails for want of a matching arc', () => {
    const story = given(
      `  - { step: a, ${tool}, spec: { on_error: continue }, set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }, next: [{ step: b, when: "{{ false }}" }] }\n  - { step: b, ${tool} }`,
      'executor: { spec: { no_next_is_error: true } }',
    )
      .start()
      .does('a');
    expect(story.state.ctx.n).toBe(1);
  });
});

describe('a template sees', () => {
  const seen = (expression: string) => {
    const story = given(
      `  - { step: a, ${tool}, next: b }\n  - { step: b, tool: { kind: noop, input: { v: "{{ ${expression} }}" } } }`,
      'workload: { w: 1, nothing: null }',
    ).start({ w: 2 });
    story.does('a', { n: 5, nothing: null });
    return (story.last('command.issued').context as { args: { v: unknown } }).args.v;
  };

  it.each([
    ['workload.w', 2],
    ['ctx.w', 2],
    ['a.n', 5],
    ['a.data.n', 5],
    ['steps.a.status', 'ok'],
    ['execution_id', '700000000000000001'],
    ['job.uuid', '700000000000000001'],
  ])('B23: %s', (expression, value) => {
    expect(seen(expression)).toEqual(value);
  });

  it.each(['workload.nothing is none', 'workload.nothing == none', 'a.nothing is none'])(
    'B28: a JSON null as none: %s',
    (expression) => {
      expect(seen(expression)).toBe(true);
    },
  );

  it.each([
    "event.name == 'call.done'",
    "event.name == 'step.exit'",
    "output.status == 'success'",
    'result.n == 5',
    'error is none',
  ])('B23: %s in an arc of a step that is done', (when) => {
    const story = given(
      `  - { step: a, ${tool}, next: [{ step: b, when: "{{ ${when} }}" }] }\n  - { step: b, ${tool} }`,
    ).start();
    expect(story.does('a', { n: 5 }).open()).toEqual(['b']);
  });
});

describe('the workload', () => {
  it('is the defaults, overridden key by key by the payload', () => {
    const story = given(`  - { step: a, ${tool} }`, 'workload: { a: 1, b: { c: 2 } }').start({ b: { d: 3 } });
    expect(story.state.workload).toEqual({ a: 1, b: { d: 3 } });
  });

  it('renders its defaults over the payload, but never the payload', () => {
    const story = given(`  - { step: a, ${tool} }`, 'workload: { greeting: "hi {{ name }}" }').start({
      name: '{{ 1 + 1 }}',
    });
    expect(story.state.workload).toEqual({ greeting: 'hi {{ 1 + 1 }}', name: '{{ 1 + 1 }}' });
  });
});

describe('every event names its cause', () => {
  const story = given(`  - { step: a, ${tool}, set: { ctx.x: 1 }, next: b }\n  - { step: b, ${tool} }`)
    .start()
    .does('a')
    .does('b');
  const ids = new Set(story.log.map((row) => row.event_id));

  it('B22: what a report led to has that report as its parent', () => {
    const report = story.log.find((row) => row.event_type === 'command.completed' && row.node_name === 'a');
    const led = story.log.filter((row) => row.parent_event_id === report?.event_id).map((row) => row.event_type);
    expect(led).toEqual(['ctx.updated', 'next.evaluated', 'step.enter', 'command.issued']);
  });

  it('B22: a claim has the command as its parent', () => {
    const issued = story.last('command.issued');
    expect(story.last('command.claimed').parent_event_id).toBe(issued.event_id);
  });

  it('B22: no event has a parent that is not in the log', () => {
    const parents = story.log.map((row) => row.parent_event_id).filter((id) => id !== null);
    expect(parents.filter((id) => !ids.has(id))).toEqual([]);
  });
});

it('shows a step what the one before it returned, as `result`', () => {
  const story = given(`
  - step: start
    tool: { kind: noop }
    next: { arcs: [{ step: after }] }
  - step: after
    tool: { kind: noop, message: "{{ result.n }}" }`).start();
  story.does('start', { n: 7 });
  expect(story.last('command.issued').context).toMatchObject({ tool_config: { message: 7 } });
});

it('keeps the type of a value deep inside a tool, whatever its field is called', () => {
  const story = given(
    `
  - step: start
    tool: { kind: http, url: "{{ workload.n }}", json: { code: "{{ workload.n }}" } }`,
    'workload: { n: 4 }',
  ).start();
  expect(story.last('command.issued').context).toMatchObject({ tool_config: { url: '4', json: { code: 4 } } });
});

it('`set` of the tool itself sees the bare result, and comes before `set` of the step', () => {
  const story = given(`
  - step: start
    tool: { kind: noop, set: { ctx.n: "{{ output.n }}" } }
    set: { ctx.m: "{{ ctx.n + output.data.n }}" }`).start();
  story.does('start', { n: 2 });
  expect(story.state.ctx).toEqual({ n: 2, m: 4 });
});
