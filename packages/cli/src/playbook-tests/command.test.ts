import { describe, expect, it } from 'vitest';
import { played } from '../testing/played.js';

describe('time inside a tool', () => {
  it('passes as the mock says', async () => {
    const { durationMs, state } = await played(`
workflow:
  - step: start
    tool: { kind: http, url: "http://slow" }
tests:
  - name: slow
    mocks: { start: { result: { done: true }, takes: 4s } }
    expect: { duration: 4s }
`);
    expect(durationMs).toBe(4000);
    expect(state.steps['start']?.data).toEqual({ done: true });
  });

  it('is cut short by the time-out of the tool', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    tool: { kind: http, url: "http://slow", timeout_seconds: 10 }
    next: { arcs: [{ step: late, when: "{{ error.kind == 'timeout' }}" }] }
  - step: late
    tool: { kind: noop }
tests:
  - name: too slow
    mocks: { start: { result: {}, takes: 1m } }
    expect: { path: [start, late], duration: 10s }
`);
    expect(mismatches).toEqual([]);
  });

  it('does not outlive a cancelled execution', async () => {
    const { state, timeline } = await played(`
workflow:
  - step: start
    tool: { kind: http, url: "http://slow" }
tests:
  - name: cancelled in the middle
    mocks: { start: { result: {}, takes: 1h } }
    cancel_after: 5m
    expect: { status: CANCELLED }
`);
    expect(state.status).toBe('CANCELLED');
    expect(timeline.map(({ text }) => text)).not.toContain('returned {}');
  });

  it('passes between the attempts of a step that is tried again', async () => {
    const { mismatches } = await played(`
workflow:
  - step: start
    spec: { on_error: retry, max_attempts: 3 }
    tool: { kind: http, url: "http://a" }
tests:
  - name: the third attempt
    mocks: { start: [{ error: no, takes: 1s }, { error: no, takes: 1s }, { result: "{{ attempt }}", takes: 1s }] }
    expect: { calls: { start: 3 }, result: 3, duration: 3s }
`);
    expect(mismatches).toEqual([]);
  });

  it('decides which of two parallel steps ends first', async () => {
    const { state, durationMs } = await played(`
workflow:
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: slow }, { step: fast }] }
  - step: slow
    tool: { kind: http, url: "http://a" }
    set: { ctx.last: slow }
  - step: fast
    tool: { kind: http, url: "http://b" }
    set: { ctx.last: fast }
tests:
  - name: race
    mocks: { slow: { result: 1, takes: 9s }, fast: { result: 2, takes: 2s } }
    expect: { status: COMPLETED }
`);
    expect(state.ctx).toEqual({ last: 'slow' });
    expect(durationMs).toBe(9000);
  });
});

describe('lists of tools and policies', () => {
  const RETRIED = (answers: string) => `
workflow:
  - step: start
    tool:
      kind: http
      url: "http://shop"
      spec:
        policy:
          rules:
            - when: "{{ output.error.retryable }}"
              then: { do: retry, attempts: 3, backoff: constant, delay: 30 }
tests:
  - name: retries
    mocks: { start: ${answers} }
    expect: { status: COMPLETED }
`;

  it('are retried as in production, without waiting', async () => {
    const busy = '{ error: { message: busy, kind: server_error, retryable: true } }';
    const { calls, durationMs, state } = await played(RETRIED(`[${busy}, ${busy}, { result: { page: 1 } }]`));
    expect(calls.map(({ name }) => name)).toEqual(['start', 'start', 'start']);
    expect(durationMs).toBe(60_000);
    expect(state.steps['start']?.data).toEqual({ page: 1 });
  });

  it('fail when every attempt did', async () => {
    const { calls, state } = await played(RETRIED('{ error: { message: busy, retryable: true } }'));
    expect(calls).toHaveLength(3);
    expect(state).toMatchObject({ status: 'FAILED', failedSteps: ['start'] });
  });

  const LIST = (mocks: string) => `
workflow:
  - step: load
    tool:
      - fetch: { kind: http, url: "http://shop" }
      - insert:
          kind: postgres
          query: insert into t values ({{ fetch.rows }})
          input: { rows: "{{ fetch.rows }}" }
          set: { ctx.inserted: "{{ output.row_count }}" }
tests:
  - name: loads
    mocks: ${mocks}
    expect: { status: COMPLETED }
`;

  it('are mocked task by task', async () => {
    const { state, calls, durationMs } = await played(
      LIST('{ load.fetch: { result: { rows: 3 }, takes: 1s }, load.insert: { result: { row_count: 3 }, takes: 2s } }'),
    );
    expect(state.ctx).toEqual({ inserted: 3 });
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['load', {}],
      ['load.fetch', {}],
      ['load.insert', { rows: 3 }],
    ]);
    expect(calls[2]?.config).toMatchObject({ query: 'insert into t values (3)' });
    expect(calls[2]?.config).not.toHaveProperty('__task');
    expect(durationMs).toBe(3000);
  });

  it('can be mocked as a whole', async () => {
    const { state, calls } = await played(LIST('{ load: { result: { row_count: 9 } } }'));
    expect(state.steps['load']?.data).toEqual({ row_count: 9 });
    expect(calls.map(({ name }) => name)).toEqual(['load']);
  });

  it('name the task that has no mock', async () => {
    const { problem } = await played(LIST('{ load.fetch: { result: { rows: 3 } } }'));
    expect(problem).toMatch(/^'load\.insert' \(line \d+\) runs postgres/);
  });
});

describe('loops', () => {
  it('call the mock once for each item, in the order of the items', async () => {
    const { state, calls } = await played(`
workflow:
  - step: start
    loop: { in: [1, 2, 3], iterator: n, spec: { mode: parallel } }
    tool: { kind: http, url: "http://score/{{ n }}", input: { n: "{{ n }}" } }
tests:
  - name: scores
    mocks:
      start:
        - { when: "{{ input.n == 2 }}", result: two }
        - { result: "{{ input.n * 10 }}" }
    expect: { status: COMPLETED }
`);
    expect(calls.map(({ input }) => input['n'])).toEqual([1, 2, 3]);
    expect(state.steps['start']?.data).toMatchObject({ results: [10, 'two', 30] });
  });

  it('claim the rows of a cursor from a mock of their own', async () => {
    const { state, mismatches } = await played(`
workflow:
  - step: work
    loop:
      iterator: row
      cursor: { kind: postgres, claim: select 1 }
      spec: { mode: cursor, frame: { max_rows: 2 } }
    tool: { kind: http, url: "http://work/{{ row.id }}" }
tests:
  - name: two frames
    mocks:
      work.claim: [{ result: { rows: [{ id: 1 }, { id: 2 }] } }, { result: { rows: [{ id: 3 }] } }, { result: { rows: [] } }]
      work: { result: ok }
    expect: { calls: { work: 3, work.claim: 3 } }
`);
    expect(state.status).toBe('COMPLETED');
    expect(mismatches).toEqual([]);
  });
});
