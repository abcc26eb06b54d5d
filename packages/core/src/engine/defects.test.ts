// Forty-two mistakes that an engine of this kind is known to make, and the test that keeps this one from each of them. Most are tested
// where the behaviour lives, and the table says where; the others are tested here or in one of the files that PROOFS names. A title
// that is renamed, or a test that is taken away, breaks the last test of this file.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { called, completed, raised } from './simulation/reports.js';
import { given } from './simulation/story.js';

const ROWS = 42;

/** Files whose titles end with the number of the mistake, as in `[B13]`. */
const PROOFS = [
  'packages/core/src/engine/defects.test.ts',
  'packages/worker/src/pipeline/defects.test.ts',
  'test/api/defects.test.ts',
];

const engine = (file: string) => `packages/core/src/engine/${file}.test.ts`;
const worker = (file: string) => `packages/worker/src/${file}.test.ts`;
const api = (file: string) => `test/api/${file}.test.ts`;

/** What is tested where the behaviour lives. */
const ELSEWHERE: Readonly<Record<number, readonly (readonly [file: string, title: string])[]>> = {
  1: [
    [engine('routing'), 'B1: a target that was not taken still runs when another path leads to it'],
    [engine('routing'), 'B1: the shared target runs at once when the long path is not taken'],
  ],
  2: [[engine('routing'), 'B2: a skip runs down the whole branch, so the join behind it does not wait']],
  3: [[engine('routing'), 'B3: a decision is taken once; what changes later does not fire a second branch']],
  4: [[engine('routing'), 'B4: a finished leaf does not end the run while another branch has work']],
  5: [
    [engine('routing'), 'B5: a step none of whose arcs match ends its branch'],
    [engine('routing'), 'B5: a leaf whose guard says no ends its branch'],
  ],
  7: [[engine('loops'), 'B7: a step that routes to itself is visited again']],
  8: [[engine('loops'), 'B8: a re-entry follows the order of the log, whatever the clocks of the workers say']],
  9: [[engine('iteration'), 'keeps its window full and never wider']],
  10: [[engine('iteration'), 'keeps results in the order of the items, not of their ends']],
  12: [[worker('events'), 'make a tool status %s a failure that keeps the result']],
  14: [
    [engine('guards'), 'B14: is asked of the entry step too, and a denied entry completes with nothing run'],
    [engine('guards'), 'B14: the entry step gets a step.enter and sees the execution id'],
  ],
  16: [[engine('failure'), 'B16: a failure beside a running sibling is not forgotten when the sibling completes last']],
  18: [[api('reference-protocol'), 'of a finished command is 409']],
  19: [
    [engine('codec'), 'B19: %s is read as a cancellation'],
    [engine('failure'), 'B19: a cancel closes every open command and is final'],
    [api('ending'), 'ends the execution, its commands and its claims'],
  ],
  20: [['test/chaos/kill.test.ts', 'complete after kill -9 of the server']],
  21: [
    [api('two-servers'), 'do every command once'],
    [api('two-servers'), 'a claim that both grant at once goes to one worker'],
  ],
  22: [[engine('context'), 'B22: no event has a parent that is not in the log']],
  23: [
    [engine('context'), 'B23: %s'],
    [engine('context'), 'B23: %s in an arc of a step that is done'],
  ],
  24: [
    [engine('context'), 'B24: of an arc is as durable as that of a step: both are events'],
    [engine('sequence'), 'makes what its tasks set durable before the arcs are asked'],
  ],
  25: [[worker('pipeline/rendering'), 'not in the result of a task, however often it is handed on']],
  26: [['packages/core/src/template/value-template.test.ts', 'never re-types what is not a template']],
  28: [[engine('context'), 'B28: a JSON null as none: %s']],
  29: [
    [api('redaction'), 'the stored result is as it came'],
    [api('redaction'), 'a later step gets the secret of an earlier one'],
  ],
  34: [
    [engine('failure'), 'B34: there is one terminal event; a later $type is refused'],
    [api('ending'), '32 at once write one terminal event'],
  ],
  35: [[api('catalog-archive'), 'runs to its end on the archived version, also on a server that has not seen it']],
  36: [
    [
      engine('guards'),
      'B36: a step that its guard skips passes the run on by every arc that matches, a defined `end` included',
    ],
  ],
  37: [[api('leases'), 'gives the command to another worker as attempt 2, and refuses the late report of the first']],
  39: [[worker('pipeline/retry'), 'starts anew after a success: a loop over pages does not use up one budget']],
  41: [
    [engine('loops'), 'B41: a join inside the loop waits for both of its branches, in every round'],
    [engine('graph'), 'only the arc to the head of the loop is one, so a join in the body still waits'],
  ],
};

/** What is not kept from happening yet. Its test is written and expected to fail: it turns red on the day the behaviour is there. */
const MISSING: ReadonlySet<number> = new Set();

const tool = 'tool: { kind: noop }';

describe('a loop over items', () => {
  it('over nothing goes on in the same breath, on the entry step as elsewhere [B11]', () => {
    const story = given(`
  - { step: start, loop: { in: [], iterator: x }, ${tool}, next: later }
  - { step: later, loop: { in: "{{ workload.none }}", iterator: x }, ${tool}, next: after }
  - { step: after, ${tool} }`).start({ none: [] });
    expect(story.ledTo().at(-1)).toBe('command.issued after');
    expect(story.steps('loop.done')).toEqual(['start', 'later']);
  });

  it.each([
    ['[1, 2]', [1, 2]],
    ['{ "a": 1 }', [{ key: 'a', value: 1 }]],
    ['2', [0, 1]],
    ['"x, y"', ['x', 'y']],
  ])('of the entry step takes every collection that a loop elsewhere takes: %s [B14]', (collection, items) => {
    const story = given(`
  - step: start
    loop: { in: "{{ workload.all }}", iterator: x, spec: { mode: parallel } }
    tool: { kind: noop, input: { it: "{{ iter.x }}" } }`).start({ all: JSON.parse(collection) });
    const issued = story.log.filter(({ event_type }) => event_type === 'command.issued');
    expect(issued.map(({ context }) => context)).toMatchObject(items.map((it) => ({ args: { it } })));
  });

  it('has only the results of its new items when an arc goes back to it [B6]', () => {
    const story = given(`
  - step: each
    loop: { in: [1, 2], iterator: x }
    ${tool}
    set: { ctx.rounds: "{{ (ctx.rounds | default(0)) + 1 }}" }
    next: { arcs: [{ step: each, when: "{{ ctx.rounds < 2 }}" }] }`).start();
    for (const result of ['a', 'b', 'c']) story.does('each', result);
    expect(story.state.status).toBe('RUNNING');
    expect(story.does('each', 'd').state.steps.each?.data).toMatchObject({ results: ['c', 'd'] });
  });

  it('may claim its rows one frame at a time on the entry step, too [B14]', () => {
    const story = given(`
  - step: start
    loop: { cursor: { kind: noop, claim: "next {{ __frame_max_rows }}" }, iterator: row, spec: { mode: cursor, frame: { max_rows: 2 } } }
    tool: { kind: noop, input: { id: "{{ iter.row.id }}" } }`).start();
    story.does('start', { rows: [{ id: 7 }] });
    expect(story.last('command.issued').context).toMatchObject({ args: { id: 7 } });
    story.does('start').does('start', { rows: [] });
    expect(story.state.status).toBe('COMPLETED');
  });

  it('keeps the collection that it began with, whatever another branch sets meanwhile [B40]', () => {
    const story = given(`
  - { step: start, ${tool}, set: { ctx.list: "{{ ['a', 'b', 'c'] }}" }, next: [each, other] }
  - { step: each, loop: { in: "{{ ctx.list }}", iterator: x }, tool: { kind: noop, input: { it: "{{ iter.x }}" } } }
  - { step: other, ${tool}, set: { ctx.list: "{{ ['z'] }}" } }`)
      .start()
      .does('start')
      .does('each')
      .does('other');
    expect(story.state.ctx.list).toEqual(['z']);
    expect(story.last('command.issued').context).toMatchObject({ args: { it: 'b' } });
    story.does('each');
    expect(story.last('command.issued').context).toMatchObject({ args: { it: 'c' } });
    expect(story.does('each').state.status).toBe('COMPLETED');
  });
});

describe('what steps keep', () => {
  it.each([
    [['slow', 'fast'], 'from fast'],
    [['fast', 'slow'], 'from slow'],
  ])('is overwritten in the order in which they finish: %j [B24]', (order, kept) => {
    const story = given(`
  - { step: start, ${tool}, next: [slow, fast] }
  - { step: slow, ${tool}, set: { ctx.by: from slow } }
  - { step: fast, ${tool}, set: { ctx.by: from fast } }`)
      .start()
      .does('start');
    for (const step of order) story.does(step);
    expect(story.state.ctx.by).toBe(kept);
  });
});

describe('what a tool is given', () => {
  const issued = (step: string, payload = {}) =>
    given(step).start(payload).last('command.issued').context as { args: object; tool_config: object };

  it('is text where the playbook says text: no number, no null, no boolean is read into it [B26]', () => {
    const texts = { zip: '01234', ratio: '10.0', empty: '', yes: 'true', id: '700000000000000001', list: '[1]' };
    const step = `  - { step: a, tool: { kind: noop, input: ${JSON.stringify(texts)} } }`;
    expect(issued(step).args).toEqual(texts);
  });

  it('is text where data says text, as a template hands it on [B26]', () => {
    const texts = { zip: '01234', empty: '', yes: 'true', id: '700000000000000001', list: '[1]' };
    const input = Object.fromEntries(Object.keys(texts).map((key) => [key, `{{ workload.${key} }}`]));
    expect(issued(`  - { step: a, tool: { kind: noop, input: ${JSON.stringify(input)} } }`, texts).args).toEqual(texts);
  });

  it('has numbers as numbers and keys in their order when it comes by tojson [B27]', () => {
    const step = '  - { step: a, tool: { kind: noop, message: "data: {{ workload.row | tojson }}" } }';
    const row = { zeta: 1.5, alpha: 2, mid: { y: 0.1, b: null } };
    expect(issued(step, { row }).tool_config).toMatchObject({
      message: 'data: {"zeta":1.5,"alpha":2,"mid":{"y":0.1,"b":null}}',
    });
  });

  it.each(['input', 'args'])('includes the %s of its step, rendered, under its own [B30]', (field) => {
    const step = `  - { step: a, ${field}: { who: "{{ workload.who }}", n: 1 }, tool: { kind: noop, input: { n: 2 } } }`;
    expect(issued(step, { who: 'Ada' }).args).toEqual({ who: 'Ada', n: 2 });
  });

  it('never has a template in it that came with the data [B25]', () => {
    const text = '{{ 1 + 1 }} {% if true %}x{% endif %}';
    const story = given(`
  - { step: a, ${tool}, set: { ctx.kept: "{{ output.text }}" }, next: b }
  - { step: b, tool: { kind: noop, message: "{{ a.text }}", input: { kept: "{{ ctx.kept }}" } } }`)
      .start()
      .does('a', { text });
    expect(story.last('command.issued').context).toMatchObject({
      tool_config: { message: text },
      args: { kept: text },
    });
  });
});

describe('an execution', () => {
  it('whose first command cannot be built ends, and says why [B32]', () => {
    const story = given('  - { step: a, tool: { kind: noop, input: { n: "{{ 1 / workload.zero }}" } } }').start({
      zero: 0,
    });
    expect(story.state).toMatchObject({ status: 'FAILED', failedSteps: ['a'] });
    expect(story.state.error).toContain('division by zero');
  });

  it('enters a step and issues its command in one decision, so nothing can come between [B20]', () => {
    const story = given(`  - { step: a, ${tool}, next: b }\n  - { step: b, ${tool} }`).start();
    expect(story.ledTo()).toEqual(['playbook_started story', 'step.enter a', 'command.issued a']);
    expect(story.does('a').ledTo()).toEqual(['next.evaluated a', 'step.enter b', 'command.issued b']);
  });
});

describe('a command whose result comes later, by callback', () => {
  const handedOver = () => {
    const story = given(`  - { step: a, ${tool}, next: b }\n  - { step: b, ${tool} }`).start();
    const { commandId, token } = story.claim('a');
    const told = { commandId, step: 'a', workerId: 'w1' };
    const context = { command_id: commandId, status: 'success', pending_callback: true };
    story.when({ type: 'event', row: { ...completed(told), result: { status: 'success', context } }, token });
    return { story, callback: { commandId, step: 'a', workerId: 'the cluster' } };
  };

  it('is not done before it comes [B38]', () => {
    expect(handedOver().story.open()).toEqual(['a']);
  });

  it('is done when somebody who never claimed it reports how it ended', () => {
    const { story, callback } = handedOver();
    story.when({ type: 'event', row: called(callback, { exit_code: 0 }) });
    expect(story.open()).toEqual(['b']);
    expect(story.state.steps['a']?.data).toEqual({ exit_code: 0 });
  });

  it('fails when the callback says so', () => {
    const { story, callback } = handedOver();
    story.when({ type: 'event', row: raised(callback, 'out of memory') });
    expect(story.state).toMatchObject({ status: 'FAILED', failedSteps: ['a'] });
  });
});

describe('the list of mistakes', () => {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  const text = (file: string) => readFileSync(`${root}${file}`, 'utf8');
  /** Titles of tests that run: behind `it(` or the table of an `each`, or alone on a line behind such a table. */
  const titles = (file: string) =>
    [...text(file).matchAll(/(?:\bit\(|\)\(|^\s*)(['"])((?:\\.|(?!\1).)+)\1,(?: (?:async )?\(|$)/gm)].map(
      ([, , title = '']) => title.replaceAll("\\'", "'"),
    );
  const numbers = Array.from({ length: ROWS }, (_, index) => index + 1);
  const proofs = PROOFS.flatMap(titles);

  it.each(numbers)('B%i is kept from happening by a test that runs, or is known to be missing', (number) => {
    const here = proofs.filter((title) => title.endsWith(`[B${number}]`));
    const elsewhere = ELSEWHERE[number] ?? [];
    if (MISSING.has(number)) return expect([...here, ...elsewhere]).toEqual([]);
    expect([...here, ...elsewhere]).not.toEqual([]);
    expect(elsewhere.filter(([file, title]) => !titles(file).includes(title))).toEqual([]);
  });
});
