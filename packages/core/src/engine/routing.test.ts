// Which step runs next, and which never: routers, joins, dead paths, ends (dsl.md §1.11, §3.7-§3.9, §3.14, §3.16).
import { describe, expect, it } from 'vitest';
import { detail, given } from './simulation/story.js';

const tool = 'tool: { kind: noop }';

describe('a sequence', () => {
  it('enters the first step when the execution starts', () => {
    const story = given(`  - { step: a, ${tool}, next: b }\n  - { step: b, ${tool} }`).start();
    expect(story.ledTo()).toEqual(['playbook_started story', 'step.enter a', 'command.issued a']);
  });

  it('goes on when the step is done, and ends after the last', () => {
    const story = given(`  - { step: a, ${tool}, next: b }\n  - { step: b, ${tool} }`).start().does('a');
    expect(story.ledTo()).toEqual(['next.evaluated a', 'step.enter b', 'command.issued b']);
    expect(story.does('b').ledTo()).toEqual(['next.evaluated b', 'playbook.completed playbook']);
  });

  it('begins at executor.spec.entry_step', () => {
    const story = given(
      `  - { step: a, ${tool} }\n  - { step: b, ${tool} }`,
      'executor: { spec: { entry_step: b } }',
    ).start();
    expect(story.open()).toEqual(['b']);
  });
});

describe('an exclusive router', () => {
  const router = given.bind(
    null,
    `
  - step: a
    ${tool}
    next:
      spec: { mode: exclusive }
      arcs:
        - { step: high, when: "{{ output.data.n > 5 }}" }
        - { step: even, when: "{{ output.data.n % 2 == 0 }}" }
        - { step: rest }
  - { step: high, ${tool} }
  - { step: even, ${tool} }
  - { step: rest, ${tool} }`,
  );

  it('takes the first arc that matches, in document order', () => {
    expect(router().start().does('a', { n: 8 }).open()).toEqual(['high']);
  });

  it('takes an arc without a condition when none before it matched', () => {
    expect(router().start().does('a', { n: 3 }).open()).toEqual(['rest']);
  });

  it('skips the targets it did not take', () => {
    expect(router().start().does('a', { n: 4 }).steps('step.skipped')).toEqual(['high', 'rest']);
  });
});

describe('an inclusive router', () => {
  it('takes every arc that matches', () => {
    const story = given(`
  - step: a
    ${tool}
    next:
      spec: { mode: inclusive }
      arcs: [{ step: b, when: "{{ workload.x }}" }, { step: c, when: "{{ not workload.x }}" }, { step: d }]
  - { step: b, ${tool} }
  - { step: c, ${tool} }
  - { step: d, ${tool} }`).start({ x: true });
    expect(story.does('a').open()).toEqual(['b', 'd']);
  });

  it('is what a list of names means', () => {
    const story = given(
      `  - { step: a, ${tool}, next: [b, c] }\n  - { step: b, ${tool} }\n  - { step: c, ${tool} }`,
    ).start();
    expect(story.does('a').open()).toEqual(['b', 'c']);
  });

  it('hands the arguments of its arcs to their targets', () => {
    const story = given(`
  - step: a
    ${tool}
    next: { spec: { mode: inclusive }, arcs: [{ step: b, args: { n: "{{ output.data.n + 1 }}" } }] }
  - { step: b, tool: { kind: noop, input: { m: "{{ args.n }}", flat: "{{ n }}" } } }`).start();
    story.does('a', { n: 1 });
    expect(story.last('command.issued').context).toMatchObject({ args: { m: 2, flat: 2 } });
  });
});

describe('a join', () => {
  const diamond = `
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool}, next: d }
  - { step: c, ${tool}, next: d }
  - { step: d, ${tool} }`;

  it('waits for the other branch', () => {
    const story = given(diamond).start().does('a').does('b');
    expect(story.open()).toEqual(['c']);
    expect(Object.keys(story.state.waiting)).toEqual(['d']);
  });

  it('runs once, after the last branch', () => {
    const story = given(diamond).start().does('a').does('c').does('b');
    expect(story.open()).toEqual(['d']);
    expect(story.does('d').steps('step.enter')).toEqual(['a', 'b', 'c', 'd']);
  });

  it('does not wait for a branch that was not taken', () => {
    const story = given(`
  - step: a
    ${tool}
    next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c, when: "{{ workload.both }}" }] }
  - { step: b, ${tool}, next: d }
  - { step: c, ${tool}, next: d }
  - { step: d, ${tool} }`).start({ both: false });
    expect(story.does('a').does('b').open()).toEqual(['d']);
  });

  it('gathers the arguments of all branches', () => {
    const story = given(`
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool}, next: [{ step: d, args: { b: 1 } }] }
  - { step: c, ${tool}, next: [{ step: d, args: { c: 2 } }] }
  - { step: d, tool: { kind: noop, input: { all: "{{ args }}" } } }`).start();
    story.does('a').does('c').does('b');
    expect(story.last('command.issued').context).toMatchObject({ args: { all: { b: 1, c: 2 } } });
  });
});

describe('a dead path', () => {
  const shared = `
  - step: a
    ${tool}
    next: { arcs: [{ step: x, when: "{{ workload.long }}" }, { step: t }] }
  - { step: x, ${tool}, next: t }
  - { step: t, ${tool} }`;

  it('B1: a target that was not taken still runs when another path leads to it', () => {
    const story = given(shared).start({ long: true }).does('a');
    expect(story.steps('step.skipped')).toEqual([]);
    expect(story.does('x').open()).toEqual(['t']);
  });

  it('B1: the shared target runs at once when the long path is not taken', () => {
    expect(given(shared).start({ long: false }).does('a').open()).toEqual(['t']);
  });

  it('B2: a skip runs down the whole branch, so the join behind it does not wait', () => {
    const story = given(`
  - step: a
    ${tool}
    next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c1, when: "{{ false }}" }] }
  - { step: b, ${tool}, next: j }
  - { step: c1, ${tool}, next: c2 }
  - { step: c2, ${tool}, next: j }
  - { step: j, ${tool} }`)
      .start()
      .does('a');
    expect(story.steps('step.skipped')).toEqual(['c1', 'c2']);
    expect(story.does('b').open()).toEqual(['j']);
  });

  it('B3: a decision is taken once; what changes later does not fire a second branch', () => {
    const story = given(`
  - step: a
    ${tool}
    next:
      spec: { mode: inclusive }
      arcs: [{ step: b, when: "{{ ctx.go is defined }}" }, { step: c }]
  - { step: b, ${tool} }
  - { step: c, ${tool}, set: { ctx.go: true } }`)
      .start()
      .does('a')
      .does('c');
    expect(story.steps('step.enter')).toEqual(['a', 'c']);
    expect(story.steps('next.evaluated')).toEqual(['a', 'c']);
  });
});

describe('the end of a branch', () => {
  it('B4: a finished leaf does not end the run while another branch has work', () => {
    const story = given(`
  - { step: a, ${tool}, next: [leaf, b] }
  - { step: leaf, ${tool} }
  - { step: b, ${tool}, next: c }
  - { step: c, ${tool} }`)
      .start()
      .does('a')
      .does('leaf');
    expect(story.state.status).toBe('RUNNING');
    expect(story.does('b').open()).toEqual(['c']);
  });

  it('B5: a step none of whose arcs match ends its branch', () => {
    const story = given(`
  - { step: a, ${tool}, next: [{ step: b, when: "{{ false }}" }] }
  - { step: b, ${tool} }`)
      .start()
      .does('a');
    expect(story.state.status).toBe('COMPLETED');
  });

  it('B5: a leaf whose guard says no ends its branch', () => {
    const story = given(`  - { step: a, ${tool}, next: b }\n  - { step: b, when: "{{ false }}", ${tool} }`)
      .start()
      .does('a');
    expect(story.ledTo()).toEqual([
      'next.evaluated a',
      'step.skipped b',
      'next.evaluated b',
      'playbook.completed playbook',
    ]);
  });

  it('an arc to an undefined `end` just finishes the branch', () => {
    expect(given(`  - { step: a, ${tool}, next: end }`).start().does('a').state.status).toBe('COMPLETED');
  });

  it('a leaf runs on to `end` when the playbook defines it, once, after every branch', () => {
    const story = given(`
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool} }
  - { step: c, ${tool} }
  - { step: end, ${tool} }`)
      .start()
      .does('a')
      .does('b');
    expect(story.open()).toEqual(['c']);
    expect(story.does('c').open()).toEqual(['end']);
  });

  it('executor.spec.final_step runs once, when everything else is over', () => {
    const story = given(
      `
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool} }
  - { step: c, ${tool} }
  - { step: last, ${tool} }`,
      'executor: { spec: { final_step: last } }',
    )
      .start()
      .does('a')
      .does('b');
    expect(story.open()).toEqual(['c']);
    expect(story.does('c').open()).toEqual(['last']);
    expect(story.does('last').state.status).toBe('COMPLETED');
  });

  it('executor.spec.no_next_is_error fails a step none of whose arcs match', () => {
    const story = given(
      `  - { step: a, ${tool}, next: [{ step: b, when: "{{ false }}" }] }\n  - { step: b, ${tool} }`,
      'executor: { spec: { no_next_is_error: true } }',
    )
      .start()
      .does('a');
    expect(story.state).toMatchObject({ status: 'FAILED', failedSteps: ['a'] });
  });
});

it('records each decision, so that a replay needs no template', () => {
  const story = given(`
  - { step: a, ${tool}, next: { arcs: [{ step: b, when: "{{ false }}" }, { step: c, args: { x: 1 } }] } }
  - { step: b, ${tool} }
  - { step: c, ${tool} }`)
    .start()
    .does('a');
  const evaluated = detail(story.last('next.evaluated'));
  expect(evaluated).toEqual({
    run: 1,
    mode: 'exclusive',
    taken: [1],
    dead: [0],
    tokens: { c: { x: 1 } },
    outcome: 'success',
  });
});

it.each(['constructor', '__proto__', 'toString', 'a/b', 'x:y'])('a step may be called %s', (name) => {
  const story = given(
    `  - { step: a, ${tool}, next: "${name}" }\n  - { step: "${name}", ${tool}, next: b }\n  - { step: b, ${tool} }`,
  );
  expect(story.start().does('a').does(name, { v: 1 }).does('b').state.status).toBe('COMPLETED');
});
