// Names that nothing in the playbook defines: found with their place and a suggestion, and never guessed wrong.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPlaybook } from '../validate.js';
import type { Diagnostic } from './diagnostics.js';

const HEADER = 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo }\n';
const playbook = (workflow: string, header = '') => `${HEADER}${header}workflow:\n${workflow}\n`;
const unknown = (text: string): Diagnostic[] =>
  checkPlaybook(text).diagnostics.filter(({ code }) => code === 'template.unknown-variable');

describe('a name that nothing defines', () => {
  it('is told with its place and what was probably meant', () => {
    const text = playbook(
      '- step: start\n  tool:\n    kind: noop\n    message: "hi {{ custmer.name }}"',
      'workload: { customer: { name: Ada } }\n',
    );
    expect(unknown(text)).toEqual([
      {
        severity: 'warning',
        code: 'template.unknown-variable',
        message: "Step 'start': tool.message reads `custmer`, which nothing in this playbook defines",
        hint: 'did you mean `customer`?',
        path: 'workflow[0].tool.message',
        line: 9,
        column: 21,
      },
    ]);
  });

  it('is told with what to do when nothing is like it', () => {
    const text = playbook('- { step: start, tool: { kind: noop, input: { a: "{{ somewhere }}" } } }');
    expect(unknown(text).map(({ hint }) => hint)).toEqual([
      'if the start request brings it, give it a default under `workload`; else write `somewhere | default(…)`',
    ]);
  });

  it.each([
    ['a guard', '- { step: start, when: "{{ nope > 1 }}", tool: { kind: noop } }'],
    ['a condition without braces', '- { step: start, when: nope > 1, tool: { kind: noop } }'],
    ['an arc', '- { step: start, tool: { kind: noop }, next: [{ step: end, when: "{{ nope }}" }] }'],
    ['set', '- { step: start, tool: { kind: noop }, set: { ctx.a: "{{ nope }}" } }'],
    ['a loop', '- { step: start, loop: { in: "{{ nope }}", iterator: x }, tool: { kind: noop } }'],
    ['a command', '- { step: start, tool: { kind: shell, command: "echo {{ nope }}" } }'],
    [
      'a rule',
      '- { step: start, tool: { kind: noop, spec: { policy: { rules: [{ when: "{{ nope }}", then: { do: fail } }] } } } }',
    ],
  ])('is found in %s', (_, workflow) => {
    expect(unknown(playbook(workflow))).toHaveLength(1);
  });

  it('does not refuse the playbook: the start request may bring it', () => {
    const text = playbook('- { step: start, tool: { kind: noop, input: { a: "{{ somewhere }}" } } }');
    expect(checkPlaybook(text).playbook).toBeDefined();
  });
});

describe('a name that may be missing, as the author knows, is not told', () => {
  it.each([
    '{{ maybe | default(1) }}',
    '{{ maybe.deep[0].x | default(1) }}',
    '{{ maybe is defined }}',
    '{{ 1 if maybe is not none else 2 }}',
    '{{ maybe or 1 }}',
    '{{ maybe.x if maybe else 1 }}',
    '{% if maybe %}{{ maybe }}{% endif %}',
  ])('%s', (template) => {
    expect(unknown(playbook(`- { step: start, tool: { kind: noop, message: "${template}" } }`))).toEqual([]);
  });
});

describe('a name is defined by', () => {
  const reads = (name: string) => `- { step: reader, tool: { kind: noop, input: { v: "{{ ${name} }}" } } }`;

  it.each([
    ['the workload', '- { step: start, tool: { kind: noop }, next: reader }', 'workload: { it: 1 }\n'],
    ['a step', '- { step: it, tool: { kind: noop }, next: reader }', ''],
    ['set of a step', '- { step: start, tool: { kind: noop }, set: { ctx.it: 1 }, next: reader }', ''],
    ['set of an arc', '- { step: start, tool: { kind: noop }, next: [{ step: reader, set: { it.deep: 1 } }] }', ''],
    ['what an arc carries', '- { step: start, tool: { kind: noop }, next: [{ step: reader, args: { it: 1 } }] }', ''],
    ['a loop', '- { step: start, loop: { in: [1], iterator: it }, tool: { kind: noop }, next: reader }', ''],
    ['a task of a list', '- { step: start, tool: [{ name: it, kind: noop }], next: reader }', ''],
  ])('%s', (_, before, header) => {
    expect(unknown(playbook(`${before}\n${reads('it')}`, header))).toEqual([]);
  });

  it('the template itself', () => {
    const template = '{% set it = 1 %}{% for x in [it] %}{{ x }}{{ loop.index }}{% endfor %}{{ now() }}{{ range(3) }}';
    expect(unknown(playbook(`- { step: start, tool: { kind: noop, message: "${template}" } }`))).toEqual([]);
  });

  it('a script for itself: its braces may be its own', () => {
    const code = 'x = 1\\nresult = f\\"{{ x }}\\"';
    expect(unknown(playbook(`- { step: start, tool: { kind: python, code: "${code}" } }`))).toEqual([]);
  });
});

it('is looked for only so long in a playbook that is full of such names', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
  const text = playbook(`- { step: start, tool: { kind: noop, message: "{{ [${names.join(', ')}] }}" } }`);
  const found = unknown(text).length;
  expect(found).toBeGreaterThan(0);
  expect(found).toBeLessThan(200);
});

it('points at the name itself, wherever the template has it', () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z]{3,8}$/),
      fc.array(fc.stringMatching(/^[a-z ]{0,10}$/), { maxLength: 4 }),
      (word, lines) => {
        const name = `zz_${word}`;
        const text = [...lines, `{{ ${name} }}`].map((line) => `      ${line}`).join('\n');
        const document = playbook(`- step: start\n  tool:\n    kind: noop\n    message: |\n      first\n${text}`);
        const [found] = unknown(document);
        const line = document.split('\n')[(found?.line ?? 0) - 1] ?? '';
        expect(line.slice((found?.column ?? 0) - 1).startsWith(name)).toBe(true);
      },
    ),
  );
});
