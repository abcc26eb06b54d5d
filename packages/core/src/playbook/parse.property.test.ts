// Whatever the text: an answer and no exception. Whatever the valid playbook: no error.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { checkPlaybook } from '../validate.js';
import { parsePlaybook } from './parse.js';

const VALID = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo, labels: { team: a } }
workload: &w { n: 1, text: "{{ x }}" }
workbook:
  - name: price
    tool: { kind: python, code: "result = 1", input: { a: 1 } }
workflow:
  - step: start
    tool:
      - name: call
        kind: http
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: { do: retry, attempts: 5, backoff: exponential, delay: 0.5 }
              - else: { then: { do: continue, set: { ctx.x: 1 } } }
      - fetch: { kind: workbook, name: price }
    loop: { in: "{{ xs }}", iterator: x, spec: { mode: parallel, max_in_flight: 4 } }
    next: { spec: { mode: inclusive }, arcs: [{ step: a, when: x }, { step: b }] }
  - step: a
    when: "{{ ok }}"
    tool: { kind: noop, input: *w }
    next: end
  - step: b
    tool: { kind: noop }
    spec: { timeout: 30, policy: { admit: { rules: [{ else: { allow: true } }] } } }
  - step: end
    tool: { kind: noop }
`;

function answers(text: string): void {
  const { playbook, diagnostics } = checkPlaybook(text);
  const failed = diagnostics.some((d) => d.severity === 'error');
  expect(playbook === undefined).toBe(failed);
  for (const d of diagnostics) {
    expect(Math.min(d.line, d.column)).toBeGreaterThanOrEqual(1);
    expect(d.code).toMatch(/^[a-z]+\.[a-z-]+$/);
    // What is wrong, and what to write instead.
    expect([d.message, d.hint ?? '']).not.toContain('');
  }
}

it('the playbook that the mutations start from is valid', () => {
  expect(parsePlaybook(VALID).diagnostics).toEqual([]);
});

it('answers any text', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: fc.constantFrom(...'abc:-?[]{},"\'|>&*!%#@`\n\t .~<1') }),
      ),
      answers,
    ),
    { numRuns: 1_000 },
  );
});

it('answers any mutation of a playbook', () => {
  const fragment = fc.oneof(
    fc.constantFrom(
      ': ',
      '- ',
      '\n',
      '\t',
      '[',
      '}',
      '{{',
      '"',
      '&a ',
      '*w',
      '!x ',
      'null',
      '~',
      '1',
      '|',
      '<<: ',
      '? ',
    ),
    fc.string({ maxLength: 4 }),
  );
  const edit = fc.record({ at: fc.nat(VALID.length), remove: fc.nat(30), insert: fragment });
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      answers(edits.reduce((text, e) => text.slice(0, e.at) + e.insert + text.slice(e.at + e.remove), VALID));
    }),
    { numRuns: 1_000 },
  );
});

it('answers any shape of value at any place', () => {
  const lines = VALID.split('\n');
  fc.assert(
    fc.property(fc.nat(lines.length - 1), fc.jsonValue({ maxDepth: 2 }), (index, value) => {
      const changed = lines.map((line, i) =>
        i === index ? line.replace(/: .*|:$/, `: ${JSON.stringify(value)}`) : line,
      );
      answers(changed.join('\n'));
    }),
    { numRuns: 1_000 },
  );
});

const name = fc.stringMatching(/^[a-z][a-z0-9_/]{0,8}$/);
const tool = fc.oneof(
  fc.record({
    kind: fc.constantFrom('noop', 'http', 'python'),
    input: fc.dictionary(name, fc.jsonValue({ maxDepth: 1 })),
  }),
  fc.constant([
    { name: 't', kind: 'noop' },
    { kind: 'python', code: 'x' },
  ]),
  fc.constant([{ label: { kind: 'noop' } }]),
);

const value = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.maxSafeInteger(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n }),
);

function next(names: readonly string[]) {
  const target = fc.constantFrom(...names, 'end');
  const arc = fc.record({ step: target, when: fc.constantFrom('{{ x }}', true) }, { requiredKeys: ['step'] });
  return fc.oneof(
    target,
    fc.array(target),
    fc.array(arc),
    fc.record({ spec: fc.record({ mode: fc.constantFrom('exclusive', 'inclusive') }), arcs: fc.array(arc) }),
  );
}

const playbook = fc.uniqueArray(name, { minLength: 1, maxLength: 6 }).chain((names) =>
  fc.record({
    apiVersion: fc.constantFrom('noetl.io/v2', 'noetl.io/v10'),
    kind: fc.constant('Playbook'),
    metadata: fc.record({ name }),
    workload: fc.dictionary(name, fc.oneof(value, fc.array(value), fc.dictionary(name, value))),
    workflow: fc.tuple(
      ...names.map((step) =>
        fc.record({ step: fc.constant(step), tool, next: next(names) }, { requiredKeys: ['step', 'tool'] }),
      ),
    ),
  }),
);

it('finds no error in a valid playbook and keeps its steps and workload', () => {
  fc.assert(
    fc.property(playbook, (document) => {
      const result = parsePlaybook(stringify(document));
      expect(result.diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
      expect(result.playbook?.steps.map((step) => step.name)).toEqual(document.workflow.map((step) => step.step));
      expect(result.playbook?.workload).toEqual(document.workload);
    }),
    { numRuns: 300 },
  );
});
