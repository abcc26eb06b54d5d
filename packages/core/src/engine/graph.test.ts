// The fixed facts of a playbook's graph: which arcs go back, what lies on a cycle, where a leaf goes.
import { describe, expect, it } from 'vitest';
import type { Graph } from './graph.js';
import { given } from './simulation/story.js';

/** `a: b c` means that step a has arcs to b and c. */
function graphOf(lines: readonly string[], header = ''): Graph {
  const steps = lines.map((line) => {
    const [name, targets = ''] = line.split(':');
    const next = targets.trim() === '' ? '' : `, next: [${targets.trim().split(/\s+/).join(', ')}]`;
    return `  - { step: ${name}, tool: { kind: noop }${next} }`;
  });
  return given(steps.join('\n'), header).compiled.graph;
}

const arcs = (graph: Graph, which: 'back' | 'exits') =>
  graph.arcs
    .flat()
    .filter((arc) => arc[which])
    .map((arc) => `${graph.names[arc.from]}>${graph.names[arc.to]}`);
const cycle = (graph: Graph) => graph.names.filter((_, node) => graph.onCycle[node]);

describe('arcs that go back', () => {
  it('there are none without a cycle', () => {
    const graph = graphOf(['a: b c', 'b: d', 'c: d', 'd:']);
    expect({ back: arcs(graph, 'back'), cyclic: graph.cyclic }).toEqual({ back: [], cyclic: false });
  });

  it('an arc to itself is one', () => {
    expect(arcs(graphOf(['a: a b', 'b:']), 'back')).toEqual(['a>a']);
  });

  it('only the arc to the head of the loop is one, so a join in the body still waits', () => {
    const graph = graphOf(['h: l r', 'l: j', 'r: j', 'j: h out', 'out:']);
    expect(arcs(graph, 'back')).toEqual(['j>h']);
    expect(graph.incoming[graph.indexOf.get('h') ?? -1]).toEqual([]);
    expect(graph.incoming[graph.indexOf.get('j') ?? -1]?.map((arc) => graph.names[arc.from])).toEqual(['l', 'r']);
  });

  it('do not depend on the order of the document when the loop has one entrance', () => {
    expect(
      arcs(graphOf(['j: h out', 'r: j', 'h: l r', 'out:', 'l: j'], 'executor: { spec: { entry_step: h } }'), 'back'),
    ).toEqual(['j>h']);
  });

  it('one arc of a cycle with two entrances is one, so that somebody can begin', () => {
    expect(arcs(graphOf(['s: a b', 'a: b', 'b: a']), 'back')).toEqual(['b>a']);
  });
});

it('knows which steps lie on a cycle, and which arcs leave it', () => {
  const graph = graphOf(['s: a', 'a: b x', 'b: a y', 'x:', 'y:']);
  expect(cycle(graph)).toEqual(['a', 'b']);
  expect(arcs(graph, 'exits').filter((arc) => !arc.startsWith('s'))).toEqual(['a>x', 'b>y']);
});

it('knows what can be reached from the entry', () => {
  const graph = graphOf(['a: b', 'b:', 'island: b']);
  expect(graph.names.filter((_, node) => graph.reachable[node])).toEqual(['a', 'b']);
});

describe('the implicit arc to `end`', () => {
  const implicit = (graph: Graph) =>
    graph.arcs
      .flat()
      .filter((arc) => graph.names[arc.to] === 'end')
      .map((arc) => graph.names[arc.from]);

  it('is given to every leaf when the playbook defines that step', () => {
    expect(implicit(graphOf(['a: b c', 'b:', 'c:', 'end:']))).toEqual(['b', 'c']);
  });

  it('is not given to the final step', () => {
    expect(implicit(graphOf(['a:', 'last:', 'end:'], 'executor: { spec: { final_step: last } }'))).toEqual(['a']);
  });

  it('is not given to a leaf behind `end`: that would be a cycle', () => {
    expect(implicit(graphOf(['a: end', 'end: after', 'after:']))).toEqual(['a']);
  });
});

it('takes a chain of 10,000 steps without overflowing the stack', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `s${index}: ${index === 9_999 ? '' : `s${index + 1}`}`);
  expect(graphOf(lines).cyclic).toBe(false);
});
