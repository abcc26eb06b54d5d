// Arcs that go back: new visits, joins inside a loop, exits (dsl.md §3.10, §3.16).
import { describe, expect, it } from 'vitest';
import { given } from './simulation/story.js';

const tool = 'tool: { kind: noop }';

describe('a loop of arcs', () => {
  it('B7: a step that routes to itself is visited again', () => {
    const story = given(`
  - step: a
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { arcs: [{ step: a, when: "{{ ctx.n < 3 }}" }, { step: b }] }
  - { step: b, ${tool} }`)
      .start()
      .does('a')
      .does('a')
      .does('a');
    expect(story.state.steps.a?.run).toBe(3);
    expect(story.open()).toEqual(['b']);
  });

  it('B8: a re-entry follows the order of the log, whatever the clocks of the workers say', () => {
    const story = given(`
  - { step: a, ${tool}, next: b }
  - step: b
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { arcs: [{ step: a, when: "{{ ctx.n < 2 }}" }] }`).start();
    // Every report carries the same time stamp (reports.ts), so nothing can be told from it.
    story.does('a').does('b').does('a').does('b');
    expect(story.steps('step.enter')).toEqual(['a', 'b', 'a', 'b']);
    expect(story.state.status).toBe('COMPLETED');
  });

  it('B41: a join inside the loop waits for both of its branches, in every round', () => {
    const story = given(`
  - { step: head, ${tool}, next: [l, r] }
  - { step: l, ${tool}, next: j }
  - { step: r, ${tool}, next: j }
  - step: j
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { arcs: [{ step: head, when: "{{ ctx.n < 2 }}" }] }`)
      .start()
      .does('head')
      .does('l');
    expect(story.open()).toEqual(['r']);
    story.does('r').does('j').does('head').does('r');
    expect(story.open()).toEqual(['l']);
    expect(story.does('l').open()).toEqual(['j']);
  });

  it('two arcs back to one step are one visit', () => {
    const story = given(`
  - step: a
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { spec: { mode: inclusive }, arcs: [{ step: a, when: "{{ ctx.n < 2 }}" }, { step: a, when: "{{ ctx.n < 2 }}" }] }`).start();
    expect(story.does('a').open()).toEqual(['a']);
  });

  it('an exit that was not taken in one round can be taken in the next', () => {
    const story = given(`
  - step: a
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { arcs: [{ step: out, when: "{{ ctx.n == 2 }}" }, { step: b }] }
  - { step: b, ${tool}, next: a }
  - { step: out, ${tool} }`)
      .start()
      .does('a')
      .does('b');
    expect(story.steps('step.skipped')).toEqual([]);
    expect(story.does('a').open()).toEqual(['out']);
  });

  it('a join behind the loop waits until the loop is left', () => {
    const story = given(`
  - { step: s, ${tool}, next: [a, t] }
  - step: a
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { arcs: [{ step: b, when: "{{ ctx.n < 2 }}" }, { step: t }] }
  - { step: b, ${tool}, next: a }
  - { step: t, ${tool} }`)
      .start()
      .does('s')
      .does('a');
    expect(story.open()).toEqual(['b']);
    expect(story.does('b').does('a').open()).toEqual(['t']);
  });

  it('a router may leave the loop and go on with it: both happen, each once', () => {
    const story = given(`
  - step: a
    ${tool}
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { spec: { mode: inclusive }, arcs: [{ step: a, when: "{{ ctx.n < 2 }}" }, { step: out }] }
  - { step: out, ${tool} }`)
      .start()
      .does('a');
    expect(story.open()).toContain('a');
    story.does('a').does('out');
    expect(story.steps('step.enter').sort()).toEqual(['a', 'a', 'out']);
    expect(story.state.status).toBe('COMPLETED');
  });

  it('two entrances into one cycle do not wait for each other for ever', () => {
    const story = given(`
  - { step: s, ${tool}, next: [a, b] }
  - { step: a, ${tool}, next: [{ step: b, when: "{{ false }}" }] }
  - { step: b, ${tool}, next: [{ step: a, when: "{{ false }}" }] }`)
      .start()
      .does('s');
    while (story.open()[0] !== undefined) story.does(story.open()[0] ?? '');
    expect(story.steps('step.enter').sort()).toEqual(['a', 'b', 's']);
  });
});
