// A list of tools is one command: its templates travel unrendered, its result shows every task.
import { describe, expect, it } from 'vitest';
import { pipelineValue } from './pipeline-value.js';
import { given } from './simulation/story.js';

const LIST = `
  - step: start
    tool:
      - { name: fetch, kind: http, url: "{{ workload.base }}/x", input: { page: "{{ ctx.page }}" } }
      - { name: save, kind: python, code: "result = {'n': len(rows)}", input: { rows: "{{ fetch.rows }}" } }
    next: { arcs: [{ step: after }] }
  - step: after
    tool: { kind: noop, message: "{{ start.n }} {{ start.fetch.rows }} {{ ctx.seen }}" }`;

describe('a list of tools', () => {
  it('is issued as one command with its templates as they were written', () => {
    const story = given(LIST, 'workload: { base: "http://h" }').start();
    expect(story.command('start').toolKind).toBe('task_sequence');
    expect(story.last('command.issued').context).toMatchObject({
      tool_config: [{ fetch: { kind: 'http', url: '{{ workload.base }}/x' } }, { save: { kind: 'python' } }],
    });
  });

  it('carries the names it mentions and no others', () => {
    const story = given(LIST, 'workload: { base: "http://h" }\nkeychain: []').start();
    const context = story.last('command.issued').context as { render_context: object };
    expect(Object.keys(context.render_context).sort()).toEqual(['ctx', 'execution_id', 'workload']);
  });

  it('makes what its tasks set durable before the arcs are asked', () => {
    const story = given(LIST, 'workload: { base: "http://h" }').start();
    story.does('start', {
      fetch: { rows: [1] },
      save: { n: 1 },
      _pipeline: ['fetch', 'save'],
      _context_updates: { 'ctx.seen': true },
    });
    expect(story.ledTo().slice(0, 2)).toEqual(['ctx.updated', 'next.evaluated start']);
    expect(story.last('command.issued').context).toMatchObject({ tool_config: { message: '1 [1] True' } });
  });
});

describe('one tool with a policy', () => {
  it('is a command of the same kind whose result is not nested', () => {
    const story = given(`
  - step: start
    tool:
      kind: noop
      spec: { policy: { rules: [{ when: "{{ output.status == 'error' }}", then: { do: retry, attempts: 2 } }] } }`).start();
    expect(story.last('command.issued').meta).toMatchObject({ tool_kind: 'task_sequence', single: true });
    story.does('start', { n: 1 });
    expect(story.state.steps.start?.data).toEqual({ n: 1 });
  });
});

describe('the value of a list', () => {
  it('shows the fields of all tasks, the last one winning, beside the labels', () => {
    expect(pipelineValue({ a: { x: 1, y: 1 }, b: { y: 2 }, _pipeline: ['a', 'b'] })).toEqual({
      x: 1,
      y: 2,
      a: { x: 1, y: 1 },
      b: { y: 2 },
      results: { a: { x: 1, y: 1 }, b: { y: 2 } },
      _prev: { y: 2 },
    });
  });

  it('goes by the order of the tasks, not of the keys', () => {
    const value = pipelineValue({ 1: { y: 'last' }, 2: { y: 'first' }, _pipeline: ['2', '1'] });
    expect(value).toMatchObject({ y: 'last' });
  });

  it('shows a task whatever it is called', () => {
    const value = pipelineValue(JSON.parse('{"__proto__": {"y": 1}, "_pipeline": ["__proto__"]}'));
    expect(JSON.stringify(value)).toBe('{"y":1,"__proto__":{"y":1},"_prev":{"y":1},"results":{"__proto__":{"y":1}}}');
  });

  it("leaves a user's own object of objects alone", () => {
    expect(pipelineValue({ a: { x: 1 }, b: { x: 2 } })).toEqual({ a: { x: 1 }, b: { x: 2 } });
  });
});

it('a tool in a loop that sets something is run by the worker as a whole, item by item', () => {
  const story = given(`
  - step: start
    loop: { in: [1], iterator: n }
    tool: { kind: noop, set: { ctx.last: "{{ output.n }}" } }`).start();
  expect(story.last('command.issued').meta).toMatchObject({ tool_kind: 'task_sequence', single: true });
});
