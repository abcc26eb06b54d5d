// What a test shows must be what happens: the same playbook with the same answers, played offline and run by a server and a worker.
import type { WireEvent } from '@noetl/client';
import { checkPlaybook, type DomainEvent, decode, type EventRow, type Json, type PlaybookTest } from '@noetl/core';
import { type AnyTool, builtinTools } from '@noetl/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../../test/support/run.js';
import { startTestServer, type TestServer } from '../../../../test/support/server.js';
import { startTestWorker } from '../../../../test/support/worker.js';
import { createMocks } from './mocks.js';
import { play } from './stage.js';

const PLAYBOOK = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/same }
workload: { items: [3, 1, 2] }
workflow:
  - step: start
    tool:
      kind: http
      url: "http://shop"
      spec:
        policy:
          rules:
            - when: "{{ output.error.retryable }}"
              then: { do: retry, attempts: 3, backoff: exponential, delay: 0.02, set: { ctx.tries: "{{ output.meta.attempt }}" } }
    set: { ctx.total: "{{ output.data.total }}" }
    next:
      spec: { mode: inclusive }
      arcs:
        - { step: load, when: "{{ ctx.total > 5 }}", args: { limit: "{{ ctx.total * 2 }}" } }
        - { step: each }
        - { step: never, when: "{{ ctx.total > 500 }}" }
  - step: load
    tool:
      - fetch:
          kind: http
          url: "http://pages/{{ ctx.page | default(1) }}"
          set: { ctx.page: "{{ (ctx.page | default(1)) + 1 }}" }
          spec: { policy: { rules: [{ when: "{{ output.data.more }}", then: { do: jump, to: fetch } }] } }
      - insert: { kind: postgres, query: "insert {{ fetch.n }}", input: { limit: "{{ args.limit }}" } }
    next: { arcs: [{ step: join }] }
  - step: each
    loop: { in: "{{ workload.items }}", iterator: n }
    spec: { on_error: continue }
    tool: { kind: python, code: "result = n", input: { n: "{{ n }}" } }
    next: { arcs: [{ step: failed, when: "{{ event.name == 'call.error' }}" }, { step: join }] }
  - step: never
    tool: { kind: noop }
    next: { arcs: [{ step: join }] }
  - step: failed
    tool: { kind: noop, result: { reason: "{{ steps.each.error.message }}" } }
    next: { arcs: [{ step: join }] }
  - step: join
    tool: { kind: noop, result: { page: "{{ ctx.page }}", tries: "{{ ctx.tries }}", load: "{{ load }}" } }
tests:
  - name: the same
    mocks:
      start: [{ error: { message: busy, retryable: true } }, { error: { message: busy, retryable: true } }, { result: { total: 9 } }]
      load.fetch: [{ result: { more: true, n: 1 } }, { result: { more: false, n: 2 } }]
      load.insert: { result: { limit: "{{ input.limit }}", query: "{{ config.query }}" } }
      each: [{ result: "{{ input.n * 10 }}" }, { error: { message: odd one, kind: client_error } }, { result: last }]
    expect: {}
`;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

function testOf(yaml: string) {
  const { playbook } = checkPlaybook(yaml, { tests: true });
  const test = playbook?.tests?.[0];
  if (playbook === undefined || test === undefined) throw new Error('not a playbook with a test');
  return { playbook, test };
}

/** The answers of the test as tools of a worker; each kind is used once in a step. */
function mockedTools({ mocks }: PlaybookTest): AnyTool[] {
  const answers = createMocks(mocks);
  const kinds: Record<string, string> = { http: 'fetch', postgres: 'insert' };
  const mocked = ['http', 'postgres', 'python'].map(
    (kind): AnyTool => ({
      kind,
      async run({ step, input, config, attempt }) {
        const name = answers.has(step) ? step : `${step}.${kinds[kind]}`;
        const answer = answers.answer(name, { input, config, attempt });
        if (answer?.type === 'result') return { status: 'success', data: answer.result };
        if (answer?.type !== 'error') throw new Error(`nothing answers ${name}`);
        const { message } = answer.error;
        const info = { kind: 'unknown', retryable: false, code: 'MOCKED', source: kind, ...answer.error } as const;
        return { status: 'error', error: message, error_info: info };
      },
    }),
  );
  return [
    ...builtinTools({ taskSequence: { random: () => 0.5 } }).filter(({ kind }) => !['http', 'python'].includes(kind)),
    ...mocked,
  ];
}

function inOrder(events: readonly WireEvent[]): EventRow[] {
  return (events as unknown as EventRow[]).toSorted((a, b) => a.stream_version - b.stream_version);
}

const BOOKKEEPING = new Set(['command.claimed', 'command.started', 'command.requeued']);

function story(events: readonly (DomainEvent | undefined)[]): Json[] {
  return events.flatMap((event): Json[] => {
    if (event === undefined || BOOKKEEPING.has(event.type)) return [];
    const step = 'step' in event ? event.step : null;
    return [{ type: event.type, step, taken: event.type === 'next.evaluated' ? [...event.taken] : null }];
  });
}

describe('a playbook under test', () => {
  it('does the same as on a server with a worker', async () => {
    const { playbook, test } = testOf(PLAYBOOK);
    const offline = await play({ playbook, test, children: new Map(), real: new Set() });

    startTestWorker(server.client, { tools: mockedTools(test), concurrency: 1 });
    await server.client.register(PLAYBOOK);
    const id = await run(server.client, 'team/same');
    const { status, steps, result } = await server.client.result(id);
    const { events } = await server.client.events(id, { page_size: 500 });

    expect(offline.state.status).toBe(status);
    expect(story(offline.events)).toEqual(story(inOrder(events).map(decode)));
    const data = Object.entries(offline.state.steps).filter(([, step]) => step.hasData);
    expect(Object.fromEntries(data.map(([name, step]) => [name, step.data]))).toEqual({ ...steps });
    expect(offline.state.steps[offline.state.lastStep ?? '']?.data).toEqual(result);
  });
});
