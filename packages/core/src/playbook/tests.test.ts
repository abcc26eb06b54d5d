import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPlaybook } from '../validate.js';

const PLAYBOOK = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/orders }
workflow:
  - step: fetch
    tool: { kind: http, url: "http://shop" }
    next: { arcs: [{ step: load }] }
  - step: load
    tool:
      - insert: { kind: postgres, query: select 1 }
    next: { arcs: [{ step: pause }] }
  - step: pause
    tool: { kind: wait, for: 1s }
`;

function problemsOf(tests: string): string[] {
  const { diagnostics } = checkPlaybook(`${PLAYBOOK}tests:\n${tests}`, { tests: true });
  return diagnostics.map(({ severity, code, message, hint }) => `${severity} ${code}: ${message} (${hint})`);
}

describe('the tests of a playbook', () => {
  it('are read when somebody asks for them', () => {
    const text = `${PLAYBOOK}tests:
  - name: loads
    payload: { n: 1 }
    now: 2030-01-31
    mocks:
      fetch: [{ error: busy }, { result: { n: "{{ input.n }}" }, takes: 1m30s }]
      load.insert: { when: "{{ input.n > 1 }}", result: null }
    signals: [{ name: go, after: 5 }]
    cancel_after: 1h
    expect: { path: [fetch, [load, pause]], calls: { load.insert: 1 }, duration: 2s }
`;
    const { playbook } = checkPlaybook(text, { tests: true });
    expect(playbook?.tests).toMatchObject([
      {
        name: 'loads',
        payload: { n: 1 },
        now: '2030-01-31T00:00:00.000Z',
        at: { line: 15, column: 5 },
        mocks: [
          {
            name: 'fetch',
            answers: [
              { type: 'error', error: { message: 'busy' }, takesMs: 0 },
              { type: 'result', takesMs: 90_000 },
            ],
          },
          { name: 'load.insert', answers: [{ type: 'result', when: '{{ input.n > 1 }}', result: null }] },
        ],
        signals: [{ name: 'go', afterMs: 5000, payload: null }],
        cancelAfterMs: 3_600_000,
        expect: { status: 'COMPLETED', durationMs: 2000, calls: [{ name: 'load.insert', count: 1 }] },
      },
    ]);
  });

  it('never keep anybody else from reading the playbook', () => {
    const { playbook, diagnostics } = checkPlaybook(`${PLAYBOOK}tests: nonsense\n`);
    expect(diagnostics).toEqual([]);
    expect(playbook).toBeDefined();
    expect(playbook).not.toHaveProperty('tests');
  });

  it('may only name what the playbook has', () => {
    const problems = problemsOf(`
  - name: typos
    mocks: { fetsh: { result: 1 }, load.insrt: { result: 1 } }
    expect: { path: [fetch, laod], visited: [puase], calls: { fetch.task: 1 } }
`);
    expect(problems).toEqual([
      "error test.unknown-step: Test 'typos': there is no step 'fetsh' in this playbook (did you mean `fetch`?)",
      "error test.unknown-step: Test 'typos': there is no step 'load.insrt' in this playbook (did you mean `load.insert`?)",
      "error test.unknown-step: Test 'typos': there is no step 'laod' in this playbook (did you mean `load`?)",
      "error test.unknown-step: Test 'typos': there is no step 'puase' in this playbook (did you mean `pause`?)",
      expect.stringContaining("there is no step 'fetch.task'"),
    ]);
  });

  it('point to the place of a mistake', () => {
    const { diagnostics } = checkPlaybook(`${PLAYBOOK}tests:\n  - name: a\n    expect: { path: [fetsh] }\n`, {
      tests: true,
    });
    expect(diagnostics).toMatchObject([{ line: 16, column: 22, path: 'tests[0].expect.path[0]' }]);
  });

  it.each([
    ['a key that nothing reads', '  - { name: a, expects: {}, expect: {} }', 'did you mean `expect`?'],
    ['no name', '  - { expect: {} }', 'has no `name`'],
    ['no expectation', '  - { name: a }', 'it expects nothing'],
    ['a status that does not exist', '  - { name: a, expect: { status: done } }', "never has the status 'done'"],
    ['a duration that is none', '  - { name: a, expect: { duration: soon } }', "is not a duration: 'soon'"],
    ['a time that is none', '  - { name: a, now: noon, expect: {} }', '`now` is not a time'],
    ['a mock without an answer', '  - { name: a, mocks: { fetch: [] }, expect: {} }', 'has no answer'],
    ['a mock that says nothing', '  - { name: a, mocks: { fetch: { takes: 1s } }, expect: {} }', 'must have one of'],
    ['a mock of a wait', '  - { name: a, mocks: { pause: { result: 1 } }, expect: {} }', 'a wait is never mocked'],
    ['a run of what is no playbook', '  - { name: a, mocks: { fetch: { run: true } }, expect: {} }', 'cannot be `run`'],
    [
      'a task of a list that is mocked as a whole',
      '  - { name: a, mocks: { load: { result: 1 }, load.insert: { result: 1 } }, expect: {} }',
      'is never called',
    ],
    [
      'a broken template',
      '  - { name: a, mocks: { fetch: { result: "{{ input. }}" } }, expect: {} }',
      'template.syntax',
    ],
    ['a broken pattern', '  - { name: a, expect: { error: "/(/" } }', 'test.pattern'],
    ['the same name twice', '  - { name: a, expect: {} }\n  - { name: a, expect: {} }', "Two tests are called 'a'"],
  ])('are refused with %s', (_, tests, message) => {
    expect(problemsOf(`${tests}\n`).join('\n')).toContain(message);
  });

  it('may be any value at all without breaking the reader', () => {
    const word = fc.constantFrom(
      'name',
      'mocks',
      'fetch',
      'load.insert',
      'expect',
      'path',
      'result',
      'error',
      'takes',
      'run',
      'signals',
      'calls',
      'calls_with',
      'now',
      '{{ x',
      '2s',
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(word, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const { diagnostics } = checkPlaybook(`${PLAYBOOK}tests: ${JSON.stringify(value)}\n`, { tests: true });
        expect(diagnostics.filter(({ code }) => code.startsWith('yaml.'))).toEqual([]);
      }),
    );
  });

  it('tell all problems at once', () => {
    expect(problemsOf('  - { name: a, now: noon, mocks: { x: 1 }, expect: { status: done } }\n')).toHaveLength(4);
  });
});
