import { describe, expect, it } from 'vitest';
import { played } from '../testing/played.js';

const FORK = (expectation: string) => `
workflow:
  - step: start
    tool: { kind: http, url: "http://a" }
    next: { spec: { mode: inclusive }, arcs: [{ step: left }, { step: right }, { step: never, when: "{{ false }}" }] }
  - step: left
    tool: { kind: noop, result: { side: left } }
    next: { arcs: [{ step: last }] }
  - step: right
    tool: { kind: noop, result: { side: right } }
    next: { arcs: [{ step: last }] }
  - step: never
    tool: { kind: noop }
    next: { arcs: [{ step: last }] }
  - step: last
    tool: { kind: noop, result: { total: 3, list: [1, 2] } }
tests:
  - name: forks
    mocks: { start: { result: { ok: true } } }
    expect: ${expectation}
`;

async function mismatches(expectation: string): Promise<Record<string, string[]>> {
  const shown = await played(FORK(expectation));
  return Object.fromEntries(
    shown.mismatches.map(({ check, lines }) => [check, lines.map((one) => one.sign + one.text)]),
  );
}

describe('the verdict of a test', () => {
  it('finds nothing wrong when all holds', async () => {
    const all = `
      path: [start, left, right, last]
      visited: [left]
      not_visited: [never]
      skipped: [never]
      result: { total: 3 }
      steps: { left: { side: left } }
      calls: { start: 1, never: 0 }
      calls_with: { start: [{ config: { url: "http://a" } }] }
      duration: 0s`;
    expect(await mismatches(all)).toEqual({});
  });

  it('shows where the path differs', async () => {
    expect(await mismatches('{ path: [start, left, never, last] }')).toEqual({
      path: [' start', ' left', '-never', '+right', ' last'],
    });
  });

  it('takes the steps of an inner list in any order', async () => {
    expect(await mismatches('{ path: [start, [right, left], last] }')).toEqual({});
    expect(await mismatches('{ path: [start, [right, never], last] }')).toHaveProperty('path');
  });

  it('tells steps that were reached or missed against the expectation', async () => {
    expect(await mismatches('{ visited: [never], not_visited: [left], skipped: [right] }')).toEqual({
      visited: ['-never'],
      not_visited: ['+left'],
      skipped: ['-right'],
    });
  });

  it('shows the place of a value that differs', async () => {
    expect(await mismatches('{ result: { total: 4, list: [1, 3] }, steps: { never: { x: 1 } } }')).toEqual({
      result: ['-.total  4', '+.total  3', '-.list[1]  3', '+.list[1]  2'],
      'steps.never': ['-{"x":1}', '+nothing'],
    });
  });

  it('counts calls, and looks at what they were called with', async () => {
    expect(
      await mismatches('{ calls: { start: 2 }, calls_with: { start: [{ config: { url: "http://b" } }] } }'),
    ).toEqual({
      'calls.start': ['-2', '+1'],
      'calls_with.start': ['-[0].config.url  "http://b"', '+[0].config.url  "http://a"'],
    });
  });

  it('expects a failure when it expects an error', async () => {
    expect(await mismatches('{ error: boom }')).toEqual({
      status: ['-FAILED', '+COMPLETED'],
      error: ['-boom', '+no error'],
    });
  });

  it('compares an error with a part of it, or with a pattern', async () => {
    const failing = (error: string) => `
workflow:
  - step: start
    tool: { kind: http, url: "http://a" }
tests:
  - name: fails
    mocks: { start: { error: the shop is closed } }
    expect: { error: ${error} }
`;
    expect((await played(failing('shop is'))).mismatches).toEqual([]);
    expect((await played(failing('/shop .* closed$/'))).mismatches).toEqual([]);
    expect((await played(failing('/^closed/'))).mismatches).toHaveLength(1);
  });
});
