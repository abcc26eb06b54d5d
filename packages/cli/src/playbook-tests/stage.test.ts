import { describe, expect, it } from 'vitest';
import { played } from '../testing/played.js';

const HOUR = 3_600_000;

describe('a test of a playbook', () => {
  it('runs steps with the answers of their mocks', async () => {
    const { state, path, mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: http, url: "http://shop/orders" }
    next: { arcs: [{ step: big, when: "{{ start.total > 100 }}" }, { step: small }] }
  - step: big
    tool: { kind: noop }
  - step: small
    tool: { kind: noop }
tests:
  - name: a big order
    mocks: { start: { result: { total: 900 } } }
    expect: { path: [start, big], steps: { start: { total: 900 } } }
`);
    expect(mismatches).toEqual([]);
    expect(path).toEqual(['start', 'big']);
    expect(state.status).toBe('COMPLETED');
  });

  it('lets a wait pass at once, in its own time', async () => {
    const { durationMs, state } = await played(`
workflow:
  - step: start
    tool: { kind: wait, for: 2h }
tests:
  - name: waits
    now: 2030-01-31T08:00:00Z
    expect: { duration: 2h }
`);
    expect(durationMs).toBe(2 * HOUR);
    expect(state.endedAt).toBe('2030-01-31T10:00:00.000Z');
  });

  it('sends signals when they are due', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: wait, signal: approve, timeout: 1d }
tests:
  - name: approved
    signals: [{ name: approve, after: 90m, payload: { by: Ada } }]
    expect: { duration: 1h30m, result: { payload: { by: Ada } } }
`);
    expect(mismatches).toEqual([]);
  });

  it('says what a playbook waits for that never ends', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: wait, signal: approve }
tests:
  - name: hangs
    expect: { status: COMPLETED }
`);
    expect(mismatches).toEqual([
      {
        check: 'status',
        lines: [
          { sign: '-', text: 'COMPLETED' },
          { sign: '+', text: 'it does not end: nothing in this test moves it any more' },
          { sign: ' ', text: "step 'start' waits for the signal 'approve': send it under `signals`" },
        ],
      },
    ]);
  });

  it('may expect that the playbook still waits', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: wait, signal: approve }
tests:
  - name: nobody answers
    expect: { status: RUNNING, path: [start] }
`);
    expect(mismatches).toEqual([]);
  });

  it('stops at a tool without a mock, naming its line and what to do', async () => {
    const { problem, path } = await played(`workflow:
  - step: start
    tool: { kind: python, code: "result = 1" }
    next: { arcs: [{ step: saved, when: "{{ event.name == 'call.error' }}" }] }
  - step: saved
    tool: { kind: noop }
tests:
  - name: no mock
    expect: { status: COMPLETED }
`);
    expect(problem).toBe(
      "'start' (line 5) runs python, which a test does not touch: mock it under `mocks`, or pass --real python",
    );
    expect(path).toEqual(['start']);
  });

  it('runs a tool for real only when it was asked to', async () => {
    const yaml = `
workflow:
  - step: start
    tool: { kind: shell, command: echo hello }
tests:
  - name: for real
    expect: { result: { exit_code: 0 } }
`;
    expect((await played(yaml)).problem).toContain('--real shell');
    expect((await played(yaml, { real: new Set(['shell']) })).mismatches).toEqual([]);
  });

  it.each([
    [
      'no answer of its mock fits',
      '{ when: "{{ input.n > 3 }}", result: 1 }',
      'no answer of the mock \'start\' fits {"n":1}',
    ],
    ['its mock cannot be rendered', '{ result: "{{ input.n / 0 }}" }', "the mock 'start' cannot be rendered"],
  ])('stops at a tool when %s', async (_, mock, problem) => {
    const shown = await played(`
workflow:
  - step: start
    tool: { kind: http, url: "http://a", input: { n: 1 } }
    next: { arcs: [{ step: saved, when: "{{ event.name == 'call.error' }}" }] }
  - step: saved
    tool: { kind: noop }
tests:
  - name: stops
    mocks: { start: ${mock} }
    expect: {}
`);
    expect(shown.problem).toContain(problem);
    expect(shown.path).toEqual(['start']);
  });

  it('cancels when it is told to', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: wait, for: 1h }
tests:
  - name: cancelled
    cancel_after: 10m
    expect: { status: CANCELLED, duration: 10m }
`);
    expect(mismatches).toEqual([]);
  });

  it('hands the environment of the test to templates', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: noop, result: { region: "{{ env.REGION }}", at: "{{ now() }}" } }
tests:
  - name: reads it
    env: { REGION: eu }
    expect: { result: { region: eu } }
`);
    expect(mismatches).toEqual([]);
  });

  it('ends a playbook that goes round for ever', async () => {
    const { problem } = await played(`
workflow:
  - step: start
    tool: { kind: noop }
    next: { arcs: [{ step: again }] }
  - step: again
    tool: { kind: wait, for: 1s }
    next: { arcs: [{ step: start }] }
tests:
  - name: for ever
    expect: { status: COMPLETED }
`);
    expect(problem).toMatch(/goes on for ever/);
  });
});

describe('the order of what ends side by side', () => {
  const RACE = `
workflow:
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: a }, { step: b }] }
  - step: a
    tool: { kind: http, url: "http://a" }
    set: { ctx.last: a }
  - step: b
    tool: { kind: http, url: "http://b" }
    set: { ctx.last: b }
tests:
  - name: race
    mocks: { a: { result: 1 }, b: { result: 2 } }
    expect: { ctx: { last: b } }
`;

  it('is that of their start, unless a seed shuffles it', async () => {
    expect((await played(RACE)).state.ctx).toEqual({ last: 'b' });
    const seeds = Array.from({ length: 20 }, (_, seed) => seed);
    const shuffled = await Promise.all(seeds.map(async (seed) => (await played(RACE, { seed })).state.ctx['last']));
    expect(new Set(shuffled)).toEqual(new Set(['a', 'b']));
  });

  it('is the same for the same seed', async () => {
    const timelines = await Promise.all([1, 2].map(async () => (await played(RACE, { seed: 7 })).timeline));
    expect(timelines[0]).toEqual(timelines[1]);
  });
});
