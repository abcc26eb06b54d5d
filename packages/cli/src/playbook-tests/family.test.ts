import { describe, expect, it } from 'vitest';
import { playbookOf, played } from '../testing/played.js';

describe('playbooks that start playbooks', () => {
  const PARENT = (mock: string) => `
workflow:
  - step: start
    tool: { kind: playbook, path: team/child, return_step: answer, input: { n: 4 } }
tests:
  - name: parent
    mocks: { start: ${mock} }
    expect: { status: COMPLETED }
`;
  const CHILD = playbookOf(`apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/child }
workflow:
  - step: ask
    tool: { kind: http, url: "http://child", input: { n: "{{ workload.n }}" } }
    next: { arcs: [{ step: answer }] }
  - step: answer
    tool: { kind: noop, result: { twice: "{{ ask.n * 2 }}" } }
`);

  it('get the data of a mocked child', async () => {
    const { state, durationMs } = await played(PARENT('{ result: { ok: true }, takes: 5m }'));
    expect(state.steps['start']?.data).toMatchObject({ status: 'completed', data: { ok: true } });
    expect(durationMs).toBe(300_000);
  });

  it('fail with a mocked child that fails', async () => {
    const { state } = await played(PARENT('{ error: out of order }'));
    expect(state.status).toBe('FAILED');
    expect(state.error).toContain('out of order');
  });

  it('run the real child with mocks for its steps', async () => {
    const { state, calls } = await played(
      PARENT('{ run: true, mocks: { ask: { result: { n: "{{ input.n }}" }, takes: 1s } } }'),
      {
        children: new Map([['team/child', CHILD]]),
      },
    );
    expect(state.steps['start']?.data).toMatchObject({ data: { twice: 8 } });
    expect(calls.map(({ name }) => name)).toEqual(['start']);
  });

  it('cancel a child that takes too long', async () => {
    const { state, durationMs, timeline } = await played(
      PARENT('{ run: true, mocks: { ask: { result: {}, takes: 1h } } }').replace('input:', 'timeout: 10m, input:'),
      { children: new Map([['team/child', CHILD]]) },
    );
    expect(state.status).toBe('FAILED');
    expect(durationMs).toBe(600_000);
    expect(timeline.filter(({ playbook }) => playbook === 'team/child')).not.toHaveLength(0);
  });

  it('need the file of a child that shall run', async () => {
    const { problem } = await played(PARENT('{ run: true }'));
    expect(problem).toBe("'team/child' is not among the `playbooks` of the test (none)");
  });
});
