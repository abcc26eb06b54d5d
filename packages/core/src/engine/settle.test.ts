// Who starts, who is skipped, who waits: the verdicts on a state, one by one.
import { describe, expect, it } from 'vitest';
import { candidates, judge } from './settle.js';
import { given, type Story } from './simulation/story.js';

const tool = 'tool: { kind: noop }';

function verdict(story: Story, step: string, unrouted: readonly string[] = []) {
  const { graph } = story.compiled;
  return judge(graph, story.state, graph.indexOf.get(step) ?? -1, unrouted);
}

const fork = `
  - step: a
    ${tool}
    next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }, { step: d, when: "{{ false }}" }] }
  - { step: b, ${tool}, next: j }
  - { step: c, ${tool}, next: j }
  - { step: d, ${tool}, next: e }
  - { step: e, ${tool}, next: j }
  - { step: j, ${tool} }`;

describe('a step that holds a token', () => {
  it('waits while a running step can still reach it', () => {
    expect(verdict(given(fork).start().does('a').does('b'), 'j')).toBe('wait');
  });

  it('waits for a step that has finished and is not routed yet', () => {
    const story = given(fork).start().does('a').does('b');
    story.state.commands = {};
    expect(verdict(story, 'j', ['c'])).toBe('wait');
    expect(verdict(story, 'j')).toBe('start');
  });
});

describe('a step without a token', () => {
  it('waits while something alive can reach it', () => {
    expect(verdict(given(fork).start(), 'e')).toBe('wait');
  });

  it('is skipped when nothing alive can reach it', () => {
    const story = given(fork).start().does('a');
    delete story.state.steps.e;
    expect(verdict(story, 'e')).toBe('skip');
  });

  it('is never skipped when it is the final step', () => {
    const story = given(`${fork}\n  - { step: last, ${tool} }`, 'executor: { spec: { final_step: last } }').start();
    expect(verdict(story, 'last')).toBe('wait');
  });

  it('is not skipped after it ran: only a new visit can decide it again', () => {
    expect(verdict(given(fork).start().does('a').does('b'), 'b')).toBe('wait');
  });
});

describe('candidates', () => {
  const names = (story: Story, touched: readonly string[]) => {
    const { graph } = story.compiled;
    const nodes = touched.map((name) => graph.indexOf.get(name) ?? -1);
    return candidates(graph, story.state, nodes).map((node) => graph.names[node]);
  };

  it('are the touched and the waiting steps, in document order, on a graph without cycles', () => {
    const story = given(fork).start().does('a').does('b');
    expect(names(story, ['j', 'e'])).toEqual(['j']);
    expect(names(given(fork).start(), ['e', 'b'])).toEqual(['b', 'e']);
  });

  it('are all steps that are not decided when the graph has a cycle: an epoch may free any of them', () => {
    const story = given(`
  - { step: a, ${tool}, next: b }
  - { step: b, ${tool}, next: { arcs: [{ step: a, when: "{{ false }}" }, { step: c }] } }
  - { step: c, ${tool} }
  - { step: island, ${tool} }`).start();
    expect(names(story, [])).toEqual(['b', 'c']);
  });
});
