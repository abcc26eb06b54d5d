// `loop` of a step: one visit, many items.
import { describe, expect, it } from 'vitest';
import { itemsOf } from './collection.js';
import { called, completed } from './simulation/reports.js';
import { given } from './simulation/story.js';

const over = (loop: string, more = '') => `
  - step: start
    loop: ${loop}
    tool: { kind: noop, message: "{{ iter.item }} of {{ _total }}" }
    ${more}
    next: { arcs: [{ step: after, when: "{{ event.name == 'loop.done' }}" }] }
  - step: after
    tool: { kind: noop, message: "{{ start.results }}" }`;

describe('a sequential loop', () => {
  it('runs one item at a time, in order, and goes on after the last', () => {
    const story = given(over('{ in: [a, b], iterator: item }')).start();
    expect(story.open()).toEqual(['start']);
    story.does('start', 'A');
    expect(story.open()).toEqual(['start']);
    story.does('start', 'B');
    expect(story.open()).toEqual(['after']);
    expect(story.state.steps.start?.data).toMatchObject({
      results: ['A', 'B'],
      stats: { total: 2, success: 2, failed: 0 },
    });
  });

  it('renders each item with its own variables', () => {
    const story = given(over('{ in: [a, b], iterator: item }')).start().does('start');
    const issued = story.log.filter((row) => row.event_type === 'command.issued');
    expect(issued.map((row) => row.context)).toMatchObject([
      { tool_config: { message: 'a of 2' }, args: { item: 'a', _index: 0 } },
      { tool_config: { message: 'b of 2' }, args: { item: 'b', _index: 1 } },
    ]);
    expect(issued.map((row) => row.command_id?.split(':').at(-1))).toEqual(['i0', 'i1']);
  });
});

describe('a parallel loop', () => {
  it('keeps its window full and never wider', () => {
    const story = given(
      over('{ in: [1, 2, 3, 4], iterator: item, spec: { mode: parallel, max_in_flight: 2 } }'),
    ).start();
    const widths = [story.open().length];
    for (let done = 0; done < 4; done++) {
      story.does('start');
      widths.push(story.open().filter((step) => step === 'start').length);
    }
    expect(widths).toEqual([2, 2, 2, 1, 0]);
  });

  it('takes its window from a template', () => {
    const loop = '{ in: [1, 2, 3], iterator: item, spec: { mode: parallel, max_in_flight: "{{ workload.width }}" } }';
    expect(given(over(loop), 'workload: { width: 3 }').start().open()).toHaveLength(3);
  });

  it('keeps results in the order of the items, not of their ends', () => {
    const story = given(over('{ in: [a, b, c], iterator: item, spec: { mode: parallel } }')).start();
    const [first, second, third] = Object.values(story.state.commands);
    for (const command of [third, first, second]) {
      if (command === undefined) throw new Error('three items are open');
      const told = { commandId: command.commandId, step: 'start', workerId: 'w1' };
      story.when({ type: 'claim', commandId: command.commandId, workerId: 'w1' });
      story.when({ type: 'event', row: called(told, `item ${command.iteration}`), token: 1 });
      story.when({ type: 'event', row: completed(told), token: 1 });
    }
    expect(story.state.steps.start?.data).toMatchObject({ results: ['item 0', 'item 1', 'item 2'] });
  });
});

describe('an empty collection', () => {
  it('goes on at once', () => {
    const story = given(over('{ in: [], iterator: item }')).start();
    expect(story.open()).toEqual(['after']);
    expect(story.state.steps.start?.data).toMatchObject({ results: [], stats: { total: 0, success: 0, failed: 0 } });
  });
});

describe('an item that fails', () => {
  it('stops the loop: what runs may finish, nothing new starts, the step fails', () => {
    const story = given(
      over('{ in: [1, 2, 3, 4], iterator: item, spec: { mode: parallel, max_in_flight: 2 } }'),
    ).start();
    story.fails('start', 'no');
    expect(story.open()).toEqual(['start']);
    story.does('start');
    expect(story.state.status).toBe('FAILED');
    expect(story.state.error).toContain('item 0: no');
  });

  it('is collected with on_error: continue', () => {
    const loop = '{ in: [1, 2], iterator: item, spec: { policy: { on_error: continue } } }';
    const story = given(over(loop)).start().fails('start', 'no').does('start', 'yes');
    expect(story.state.steps.start?.data).toMatchObject({
      results: [null, 'yes'],
      errors: [{ index: 0, error: 'no' }],
      stats: { total: 2, success: 1, failed: 1 },
    });
    expect(story.open()).toEqual(['after']);
  });

  it('cancels the others with on_error: fail_fast', () => {
    const loop = '{ in: [1, 2, 3], iterator: item, spec: { mode: parallel, policy: { on_error: fail_fast } } }';
    const story = given(over(loop)).start().fails('start', 'no');
    expect(story.steps('command.cancelled')).toHaveLength(2);
    expect(story.state.status).toBe('FAILED');
  });
});

describe('an item that cannot be rendered', () => {
  const shares = (spec: string) =>
    given(`
  - step: start
    loop: { in: [2, 0, 1], iterator: item, spec: ${spec} }
    tool: { kind: noop, message: "{{ 6 / item }}" }
    next: { arcs: [{ step: rescue, when: "{{ event.name == 'call.error' }}" }, { step: after }] }
  - step: rescue
    tool: { kind: noop }
  - step: after
    tool: { kind: noop }`).start();

  it('lets the items that are running finish before the step fails', () => {
    const story = shares('{ mode: parallel }');
    expect(story.open()).toEqual(['start']);
    story.does('start', 3);
    expect(story.open()).toEqual(['rescue']);
    expect(story.steps('next.evaluated')).toEqual(['start']);
  });

  it('is collected with on_error: continue', () => {
    const story = shares('{ policy: { on_error: continue } }').does('start', 3).does('start', 6);
    expect(story.state.steps.start?.data).toMatchObject({
      results: [3, null, 6],
      errors: [{ index: 1, error: expect.stringContaining('division by zero') }],
    });
    expect(story.open()).toEqual(['after']);
  });

  it('takes the others back with on_error: fail_fast', () => {
    const story = shares('{ mode: parallel, policy: { on_error: fail_fast } }');
    expect(story.steps('command.cancelled')).toHaveLength(1);
    expect(story.open()).toEqual(['rescue']);
  });
});

describe('a loop that is cut short', () => {
  const pair = `
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: each }, { step: other }] }
  - step: each
    loop: { in: [1, 2], iterator: item }
    tool: { kind: noop }
  - step: other
    tool: { kind: noop }`;

  it('does not seem to run once a failure elsewhere has ended the execution', () => {
    const story = given(pair).start().does('start').fails('other').does('each');
    expect(story.state.status).toBe('FAILED');
    expect(story.steps('loop.done')).toEqual([]);
    expect(story.state.steps.each).toMatchObject({ phase: 'failed', loop: null });
  });

  it('does not seem to run once the execution is cancelled', () => {
    const story = given(pair).start().does('start');
    story.when({ type: 'cancel', reason: 'enough' });
    expect(story.state.steps.each).toMatchObject({ phase: 'failed', loop: null });
  });
});

it('a collection that is none fails the step, where an error arc can handle it', () => {
  const story = given(
    `
  - step: start
    loop: { in: "{{ workload.flag }}", iterator: item }
    tool: { kind: noop }
    next: { arcs: [{ step: rescue, when: "{{ event.name == 'call.error' }}" }] }
  - step: rescue
    tool: { kind: noop }`,
    'workload: { flag: true }',
  ).start();
  expect(story.open()).toEqual(['rescue']);
});

it('a loop that an arc goes back to runs all its items again', () => {
  const story = given(`
  - step: start
    loop: { in: [1, 2], iterator: item }
    tool: { kind: noop }
    set: { ctx.rounds: "{{ (ctx.rounds | default(0)) + 1 }}" }
    next: { arcs: [{ step: start, when: "{{ ctx.rounds < 2 }}" }] }`).start();
  for (let item = 0; item < 4; item++) story.does('start');
  expect(story.state.status).toBe('COMPLETED');
  expect(story.steps('loop.done')).toHaveLength(2);
});

describe('what a collection can be', () => {
  it.each([
    [
      [1, 'a', null],
      [1, 'a', null],
    ],
    [{ a: 1 }, [{ key: 'a', value: 1 }]],
    ['[1, 2]', [1, 2]],
    ['a, b\nc,', ['a', 'b', 'c']],
    ['', []],
    [3, [0, 1, 2]],
    [0, []],
  ])('%j', (value, items) => {
    expect(itemsOf(value, 'x')).toEqual(items);
  });

  it.each([null, true, -1, 1.5])('not %j', (value) => {
    expect(() => itemsOf(value, '{{ x }}')).toThrow(/'{{ x }}' did not evaluate to an iterable/);
  });
});

it('the end of an item names its loop, so that replay can count it', () => {
  const story = given(`
  - step: each
    loop: { in: [1, 2], iterator: n }
    tool: { kind: noop }
`)
    .start()
    .does('each')
    .fails('each');
  const loopId = story.log.find((row) => row.event_type === 'step.enter')?.meta as { loop_id: string };
  const ends = story.log.filter((row) => ['command.completed', 'command.failed'].includes(row.event_type));
  expect(ends.map((row) => row.meta)).toMatchObject([
    { loop_id: loopId.loop_id, iteration_index: 0 },
    { loop_id: loopId.loop_id, iteration_index: 1 },
  ]);
});
