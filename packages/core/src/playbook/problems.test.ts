// Every complaint: its code, its text and the exact line:column it points to.
import { describe, expect, it } from 'vitest';
import type { Diagnostic } from './diagnostics.js';
import { parsePlaybook } from './parse.js';
import { MAX_PLAYBOOK_BYTES } from './source.js';
import type { CheckTemplate } from './templates.js';

const HEADER = 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo }\n';

function diagnose(text: string, checkTemplate?: CheckTemplate): Diagnostic[] {
  return parsePlaybook(text, checkTemplate === undefined ? {} : { checkTemplate }).diagnostics;
}

/** `line:column code message`, one for each diagnostic of a severity. */
function lines(text: string, severity: Diagnostic['severity'], checkTemplate?: CheckTemplate): string[] {
  return diagnose(text, checkTemplate)
    .filter((d) => d.severity === severity)
    .map((d) => `${d.line}:${d.column} ${d.code} ${d.message}`);
}

const errors = (text: string, check?: CheckTemplate) => lines(text, 'error', check);
const warnings = (text: string, check?: CheckTemplate) => lines(text, 'warning', check);

/** Line 4 is `workflow:`, line 5 `- step: s`, the body starts on line 6. */
const withStep = (body: string) => `${HEADER}workflow:\n- step: s\n${body}\n`;
const hint = (text: string) => diagnose(text)[0]?.hint;

describe('YAML', () => {
  it.each([
    ['a tab', 'a:\n  b: 1\n\tc: 2\n', '3:1 yaml.tab A tab is used for indentation; YAML allows only spaces'],
    [
      'a tab after spaces',
      'a:\n  - x\n \t- y\n',
      '3:2 yaml.tab A tab is used for indentation; YAML allows only spaces',
    ],
    ['a tab in block text', 'a: |\n\tfoo\n', '2:1 yaml.tab A tab is used for indentation; YAML allows only spaces'],
    ['a duplicate key', 'a: 1\nb: 2\na: 3\n', '3:1 yaml.duplicate-key Key `a` is written twice in the same map'],
    [
      'several documents',
      'a: 1\n---\nb: 2\n',
      '2:1 yaml.several-documents The file holds several YAML documents; a playbook is one document',
    ],
    ['nothing', '# only a comment\n', '1:1 yaml.empty The document is empty'],
    ['a scalar', 'hello\n', '1:1 playbook.root A playbook is a map of keys, found text'],
    ['a list', '- a\n', '1:1 playbook.root A playbook is a map of keys, found a list'],
    [
      'an unquoted template',
      'a: {{ x }}\n',
      '1:4 yaml.unquoted-template A template at the start of a value must be quoted: YAML reads `{{` as a map',
    ],
    [
      'an unquoted template with a tail',
      'a:\n  url: {{ x }}/y\n',
      '2:8 yaml.unquoted-template A value that starts with a template must be quoted: YAML reads `{{` as a map',
    ],
    ['an open quote', 'a: 1\nb: "x\nc: 2\n', '2:4 yaml.syntax A quoted text is never closed'],
    ['text after a quote', "a: 'it's'\n", '1:8 yaml.syntax There is text after the closing quote'],
    [
      'a colon in a value',
      'a: b: c\n',
      '1:4 yaml.syntax A value on the same line as its key cannot hold another `key: value`',
    ],
    ['an unknown alias', 'a: *x\n', '1:4 yaml.unknown-alias Alias `*x` has no anchor `&x` before it'],
    ['a recursive alias', 'a: &x [*x]\n', '1:8 yaml.recursive-alias Alias `*x` refers to a value that contains it'],
    ['an unknown tag', 'a: !include x.yaml\n', '1:4 yaml.tag Unresolved tag: !include; playbooks use no YAML tags'],
    ['infinity', 'a: .inf\n', '1:4 yaml.number `.inf` is not a number that JSON can hold'],
    ['a key that is a list', '? [a]\n: b\n', '1:3 yaml.key A key must be plain text'],
  ])('refuses %s', (_, text, expected) => {
    expect(errors(text)).toContain(expected);
  });

  it('says what to write instead of an unquoted template', () => {
    expect(hint(`${HEADER}workload: { a: {{ x }} }\nworkflow: [{ step: s, tool: { kind: noop } }]\n`)).toBe(
      'write "{{ x }}"',
    );
  });

  it('tolerates a document marker at the end of the file', () => {
    expect(diagnose(`${withStep('  tool: { kind: noop }')}---\n`)).toEqual([]);
  });

  it('refuses aliases that expand without bound', () => {
    const names = [...'abcdefghijklmnop'];
    const bomb = names.map((name, i) => {
      const inner = i === 0 ? 'x' : `*${names[i - 1]}`;
      return `${name}: &${name} [${Array.from({ length: 10 }, () => inner).join(', ')}]\n`;
    });

    expect(diagnose(bomb.join('')).map((d) => d.code)).toContain('yaml.alias-limit');
  });

  it.each(['[', '{', '- ', '? ', 'a: ['])('refuses endless nesting of %j', (opening) => {
    expect(diagnose(opening.repeat(20_000)).map((d) => d.severity)).toContain('error');
  });

  it('refuses a document above the size limit, counted in bytes', () => {
    const text = `a: ${'é'.repeat(MAX_PLAYBOOK_BYTES / 2)}`;

    expect(errors(text)).toEqual(['1:1 yaml.too-large The playbook is larger than 4 MiB']);
  });
});

describe('header', () => {
  it('reports everything that is missing at once', () => {
    expect(errors('a: 1\n')).toEqual([
      "1:1 playbook.api-version Missing 'apiVersion'",
      "1:1 playbook.kind Missing 'kind'",
      "1:1 playbook.metadata Missing 'metadata' section",
      '1:1 playbook.workflow Workflow must have at least one step',
    ]);
  });

  it.each([
    [
      'apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: { name: n }\n',
      '1:13 playbook.api-version Unsupported API version: noetl.io/v1. Expected noetl.io/v2',
    ],
    [
      'apiVersion: noetl.io/v2\nkind: Recipe\nmetadata: { name: n }\n',
      '2:7 playbook.kind Invalid kind: Recipe. Expected Playbook',
    ],
    [
      'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { tags: [] }\n',
      "3:1 playbook.metadata Missing 'path' or 'name' in metadata",
    ],
    [`${HEADER}keychain: [{ kind: bearer }]\n`, "4:12 keychain.name keychain[0] must have a 'name'"],
    [`${HEADER}keychain: [{ name: a }, { name: a }]\n`, '4:33 keychain.duplicate Duplicate keychain name: a'],
    [
      `${HEADER}executor: { spec: { entry_step: strat } }\n`,
      "4:33 executor.unknown-step executor.spec.entry_step references unknown step 'strat'",
    ],
    [
      `${HEADER}executor: { spec: { final_step: x } }\n`,
      "4:33 executor.unknown-step executor.spec.final_step references unknown step 'x'",
    ],
    [
      `${HEADER}executor: { spec: { no_next_is_error: 1 } }\n`,
      '4:39 playbook.shape executor.spec.no_next_is_error must be `true` or `false`, found a number',
    ],
    [`${HEADER}workload: [1]\n`, '4:11 playbook.shape workload must be a map, found a list'],
  ])('refuses %j', (header, expected) => {
    expect(errors(`${header}workflow:\n- { step: start, tool: { kind: noop } }\n`)).toEqual([expected]);
  });

  it('warns about a root key that looks like a typo, and about no other', () => {
    expect(warnings(`${withStep('  tool: { kind: noop }')}worklod: {}\ntracing: {}\n`)).toEqual([
      '7:1 playbook.unknown-key unknown key `worklod` is ignored',
    ]);
  });
});

describe('steps', () => {
  it.each([
    [
      '  desc: x',
      "5:3 step.no-tool Step 's': Missing 'tool' field. Every step must have a tool (use 'kind: noop' for pure routing).",
    ],
    ['  tool: noop', "6:9 playbook.shape Step 's': tool must be a map, found text"],
    ['  tool: { url: x }', "6:9 tool.no-kind Step 's': tool must have 'kind'"],
    ['  tool: { kind: htpp }', "6:17 tool.unknown-kind Step 's': unknown tool kind 'htpp'"],
    ['  tool: []', "6:9 tool.empty-pipeline Step 's': tool pipeline must have at least one task"],
    [
      '  tool: [{ a: { kind: noop }, b: { kind: noop } }]',
      "6:10 tool.task-label Step 's': pipeline task[0] must have exactly one labeled entry (got 2)",
    ],
    ['  tool: [{ name: a, url: x }]', "6:10 tool.no-kind Step 's': tool[0] must have 'kind'"],
    [
      '  tool: [{ name: a, kind: noop }, { name: a, kind: noop }]',
      "6:43 tool.duplicate-label Step 's': Duplicate task label 'a'",
    ],
    ['  tool: { kind: python, input: [1] }', "6:32 playbook.shape Step 's': tool.input must be a map, found a list"],
    ['  tool: { kind: noop }\n  type: x', "7:3 step.type Step 's': 'type' is not a step field"],
    [
      '  tool: { kind: noop }\n  spec: { on_error: skip }',
      "7:21 playbook.choice Step 's': spec.on_error must be one of fail, continue, retry (got 'skip')",
    ],
    [
      '  tool: { kind: noop }\n  spec: { max_attempts: 0 }',
      "7:25 playbook.count Step 's': spec.max_attempts must be a positive integer or a template",
    ],
    [
      '  tool: { kind: noop }\n  spec: { timeout: soon }',
      "7:20 playbook.shape Step 's': spec.timeout must be a number of seconds, a duration or a template, found text",
    ],
    [
      '  tool: { kind: noop }\n  when: ""',
      "7:9 template.condition Step 's': invalid 'when' expression: the expression is empty",
    ],
    [
      '  tool: { kind: noop }\n  spec: { policy: { admit: { rules: [{ when: x, then: {} }] } } }',
      "7:38 admit.rule Step 's': spec.policy.admit.rules[0] must have 'allow: true' or 'allow: false'",
    ],
    [
      '  tool: { kind: workbook }',
      "6:9 workbook.reference Step 's': tool.kind=workbook requires a 'name' field referencing a workbook action",
    ],
    [
      '  tool: { kind: workbook, name: w }',
      "6:33 workbook.unknown Step 's': workbook action 'w' not found in playbook.workbook[] (available: [])",
    ],
  ])('refuses %j', (body, expected) => {
    expect(errors(withStep(body))).toEqual([expected]);
  });

  it('refuses case with the text that says what to use', () => {
    const [message] = errors(withStep('  tool: { kind: noop }\n  case: []'));

    expect(message).toBe(
      "7:3 step.case Step 's': 'case' blocks are not allowed in canonical format. Use 'step.when' for enable guards and 'next[].when' for conditional routing. For pipelines, use 'tool: [- label: {kind: ...}]' directly on the step.",
    );
  });

  it('refuses an entry without a name', () => {
    expect(errors(`${HEADER}workflow:\n- tool: { kind: noop }\n`)).toEqual([
      '5:3 step.no-name workflow[0]: missing field `step`',
    ]);
  });

  it('refuses a name that is used twice', () => {
    const text = withStep('  tool: { kind: noop }\n- step: s\n  tool: { kind: noop }');

    expect(errors(text)).toEqual(['7:9 step.duplicate Duplicate step name: s']);
  });

  it('suggests the tool kind that was meant', () => {
    expect(hint(withStep('  tool: { kind: htpp }'))).toBe('did you mean `http`?');
  });

  it.each([
    ['tol: 1', "7:3 step.unknown-key Step 's': unknown key `tol` is ignored"],
    ['url: x', "7:3 playbook.misplaced-key Step 's': key `url` has no effect here"],
    ['timeout: 5', "7:3 playbook.misplaced-key Step 's': key `timeout` has no effect here"],
    ['retry: {}', "7:3 step.unsupported-key Step 's': `retry` has no effect here"],
    ['sink: {}', "7:3 step.unsupported-key Step 's': `sink` has no effect here"],
    ['vars: { x: 1 }', "7:3 step.legacy-vars Step 's': `vars` is legacy; it is read as `set` with `ctx.` names"],
  ])('warns about %s at step level', (field, expected) => {
    expect(warnings(withStep(`  tool: { kind: noop }\n  ${field}`))).toEqual([expected]);
  });

  it('warns about step keys inside a tool', () => {
    expect(warnings(withStep('  tool:\n    kind: noop\n    next: end'))).toEqual([
      "8:5 playbook.misplaced-key Step 's': key `next` has no effect inside a tool",
    ]);
  });
});

describe('policy', () => {
  const policy = (rules: string) => withStep(`  tool: { kind: noop, spec: { policy: ${rules} } }`);

  it.each([
    ['{ mode: x }', "6:39 policy.rules Step 's': tool.spec.policy must have 'rules' field"],
    ['[{}]', "6:40 policy.rule Step 's': tool.spec.policy[0] must have 'when' or be an 'else' clause"],
    ['[{ when: x }]', "6:40 policy.rule Step 's': tool.spec.policy[0] must have 'then'"],
    ['[{ when: x, then: {} }]', "6:57 policy.action Step 's': tool.spec.policy[0] must have 'do' field"],
    [
      '[{ then: { do: retyr } }]',
      `6:54 policy.action Step 's': tool.spec.policy[0] has invalid action 'retyr'. Valid: ["continue", "retry", "break", "jump", "fail"]`,
    ],
    ['[{ then: { do: jump } }]', "6:48 policy.jump Step 's': tool.spec.policy[0]: jump action requires 'to' target"],
    [
      '[{ then: { do: jump, to: x } }]',
      "6:64 policy.jump Step 's': tool.spec.policy[0]: unknown task label 'x'. Available labels: [s]",
    ],
    [
      '[{ then: { do: retry, attempts: some } }]',
      "6:71 playbook.count Step 's': tool.spec.policy[0].then.attempts must be a positive integer or a template",
    ],
  ])('refuses %s', (rules, expected) => {
    expect(errors(policy(rules))).toEqual([expected]);
  });

  it('names eval rules as the author wrote them', () => {
    expect(errors(withStep('  tool: [{ name: f, kind: noop, eval: [{ expr: x, do: stop }] }]'))).toEqual([
      `6:55 policy.action Step 's': tool[].f.eval[0] has invalid action 'stop'. Valid: ["continue", "retry", "break", "jump", "fail"]`,
    ]);
  });

  it('warns about a rule after one that always matches', () => {
    expect(warnings(policy('[{ else: { do: fail } }, { when: x, then: { do: retry } }]'))).toEqual([
      "6:64 policy.unreachable-rule Step 's': tool.spec.policy[1] can never be reached",
    ]);
  });

  it('warns about a backoff that looks like a typo', () => {
    expect(warnings(policy('[{ then: { do: retry, backoff: linaer } }]'))).toEqual([
      "6:70 policy.backoff Step 's': tool.spec.policy[0].then.backoff: unknown backoff 'linaer' means a constant delay",
    ]);
  });
});

describe('loop', () => {
  it.each([
    ['{ in: [1] }', "7:9 loop.iterator Step 's': loop.iterator must not be empty"],
    ['{ in: [1], iterator: "" }', "7:20 loop.iterator Step 's': loop.iterator must not be empty"],
    [
      '{ iterator: x }',
      "7:9 loop.source Step 's': loop requires `in:` (the collection expression) for mode=Sequential",
    ],
    [
      '{ in: [1], iterator: x, cursor: { claim: q } }',
      "7:9 loop.source Step 's': loop must specify either 'in' or 'cursor', not both",
    ],
    [
      '{ iterator: x, spec: { mode: cursor } }',
      "7:9 loop.source Step 's': loop.spec.mode=cursor requires a loop.cursor block with a claim query",
    ],
    [
      '{ in: [1], iterator: x, spec: { max_in_flight: 0 } }',
      "7:56 playbook.count Step 's': loop.spec.max_in_flight must be a positive integer or renderable expression",
    ],
    [
      '{ in: [1], iterator: x, spec: { mode: paralel } }',
      "7:47 loop.mode Step 's': loop.spec.mode must be one of sequential, parallel, cursor (got 'paralel')",
    ],
    [
      '{ in: true, iterator: x }',
      "7:15 loop.in Step 's': loop.in has invalid expression: a boolean is not a collection",
    ],
  ])('refuses %s', (loop, expected) => {
    expect(errors(withStep(`  tool: { kind: noop }\n  loop: ${loop}`))).toEqual([expected]);
  });

  it('honours a mode outside spec and says where it belongs', () => {
    const { playbook, diagnostics } = parsePlaybook(
      withStep('  tool: { kind: noop }\n  loop: { in: [1], iterator: x, mode: parallel }'),
    );

    expect(playbook?.steps[0]?.loop?.mode).toBe('parallel');
    expect(diagnostics.map((d) => [d.code, d.hint])).toEqual([['playbook.misplaced-key', 'move it under `loop.spec`']]);
  });
});

describe('routing', () => {
  it.each([
    ['next: sx', "7:9 step.unknown-target Step 's' references unknown step 'sx' in next"],
    ['next: [s, nope]', "7:13 step.unknown-target Step 's' references unknown step 'nope' in next"],
    [
      'next: { arcs: [{ step: nope }] }',
      "7:26 step.unknown-target Step 's' references unknown step 'nope' in next.arcs",
    ],
    ['next: { arcs: [{ when: x }] }', "7:18 router.arc Step 's': next.arcs[0] must have 'step'"],
  ])('refuses %s', (next, expected) => {
    expect(errors(withStep(`  tool: { kind: noop }\n  ${next}`))).toEqual([expected]);
  });

  it('suggests the step that was meant', () => {
    const text = withStep('  tool: { kind: noop }\n  next: fetch_pge\n- step: fetch_page\n  tool: { kind: noop }');

    expect(hint(text)).toBe('did you mean `fetch_page`?');
  });

  it('allows end to be undefined', () => {
    expect(diagnose(withStep('  tool: { kind: noop }\n  next: end'))).toEqual([]);
  });

  it('warns about an unknown mode', () => {
    const text = withStep('  tool: { kind: noop }\n  next: { spec: { mode: inclusiv }, arcs: [{ step: end }] }');

    expect(warnings(text)).toEqual([
      "7:25 router.mode Step 's': next.spec.mode: unknown mode 'inclusiv' means exclusive",
    ]);
  });
});

describe('the graph', () => {
  const graph = (...steps: string[]) =>
    `${HEADER}workflow:\n${steps.map((s) => `- { tool: { kind: noop }, ${s} }\n`).join('')}`;

  it('warns about a step that no path reaches', () => {
    expect(warnings(graph('step: start, next: a', 'step: a', 'step: lost'))).toEqual([
      "7:3 step.unreachable Step 'lost' can never run: no path leads to it from 'start'",
    ]);
  });

  it('counts the implied arc of a leaf to a defined end', () => {
    expect(warnings(graph('step: start', 'step: end'))).toEqual([]);
  });

  it('counts the final step as reached', () => {
    const text = graph('step: start, next: []', 'step: wrap').replace(
      'workflow:',
      'executor: { spec: { final_step: wrap } }\nworkflow:',
    );

    expect(warnings(text)).toEqual([]);
  });

  it('warns about arcs after an unconditional one', () => {
    expect(
      warnings(graph('step: start, next: { arcs: [{ step: a }, { step: b, when: x }] }', 'step: a', 'step: b')),
    ).toEqual([
      "5:68 router.shadowed-arc Step 'start': the arc to 'b' can never be taken after the unconditional arc to 'a'",
    ]);
  });

  it('warns about a fan-out whose branches never meet', () => {
    expect(warnings(graph('step: start, next: [a, b]', 'step: a', 'step: b'))).toEqual([
      "5:47 router.fan-out-without-join [fanout_no_reducer] fan-out 'start' has no reachable reducer",
    ]);
  });

  it('is content with a fan-out whose branches meet', () => {
    expect(warnings(graph('step: start, next: [a, b]', 'step: a, next: j', 'step: b, next: j', 'step: j'))).toEqual([]);
  });

  it('does not take the way back through the fan-out for a join', () => {
    const text = graph('step: start, next: [a, b]', 'step: a, next: start', 'step: b, next: []');

    expect(warnings(text).map((line) => line.split(' ')[1])).toEqual(['router.fan-out-without-join']);
  });
});

describe('templates', () => {
  /** Complains about the word BAD, at its place. */
  const check: CheckTemplate = (text, kind) => {
    const before = text.split('BAD')[0] ?? '';
    if (before === text) return undefined;
    const rows = before.split('\n');
    return { message: `${kind} is bad`, line: rows.length, column: (rows.at(-1) ?? '').length + 1 };
  };

  it.each([
    [
      '  tool: { kind: http, url: "{{ BAD }}" }',
      "6:32 template.syntax Step 's': tool.url has an invalid template: value is bad",
    ],
    [
      '  tool: { kind: http, params: { q: [ "x{{ BAD }}" ] } }',
      "6:43 template.syntax Step 's': tool.params.q[0] has an invalid template: value is bad",
    ],
    [
      '  tool: { kind: noop }\n  when: x BAD',
      "7:11 template.syntax Step 's': invalid 'when' expression: condition is bad",
    ],
    [
      '  tool: { kind: noop }\n  set: { ctx.x: "{{ BAD }}" }',
      "7:21 template.syntax Step 's': set.ctx.x has an invalid template: value is bad",
    ],
    [
      '  tool: { kind: noop }\n  next: { arcs: [{ step: end, when: "{{ BAD }}" }] }',
      "7:41 template.syntax Step 's': next.arcs[].when has invalid expression: condition is bad",
    ],
    [
      '  tool: { kind: noop }\n  next: [{ step: end, when: "{{ BAD }}" }]',
      "7:33 template.syntax Step 's': next[].when has invalid expression: condition is bad",
    ],
    [
      '  tool: { kind: noop }\n  loop: { iterator: x, in: "{{ BAD }}" }',
      "7:32 template.syntax Step 's': loop.in has invalid expression: value is bad",
    ],
    [
      '  tool: { kind: noop, eval: [{ expr: BAD, do: fail }] }',
      "6:38 template.syntax Step 's': eval[0] has invalid expression: condition is bad",
    ],
  ])('points into %j', (body, expected) => {
    expect(errors(withStep(body), check)).toEqual([expected]);
  });

  it('points into block text', () => {
    const body = '  tool:\n    kind: http\n    body: |\n\n      first\n      {{ BAD }}';

    expect(errors(withStep(body), check)).toEqual([
      "11:10 template.syntax Step 's': tool.body has an invalid template: value is bad",
    ]);
  });

  it('points to the start of text whose lines are folded', () => {
    expect(errors(withStep('  tool:\n    kind: http\n    body: >\n      x\n      {{ BAD }}'), check)).toEqual([
      "8:11 template.syntax Step 's': tool.body has an invalid template: value is bad",
    ]);
  });

  it.each(['code', 'command', 'cmds', 'query', 'script'])('only warns inside %s', (key) => {
    const [found, ...more] = diagnose(withStep(`  tool: { kind: python, ${key}: ["{{ BAD }}"] }`), check);

    expect(more).toEqual([]);
    expect(found).toMatchObject({ severity: 'warning', code: 'template.syntax' });
    expect(found?.hint).toContain('{% raw %}');
  });

  it('checks workload strings', () => {
    const text = `${HEADER}workload: { a: "{{ BAD }}" }\nworkflow:\n- { step: s, tool: { kind: noop } }\n`;

    expect(errors(text, check)).toEqual(['4:20 template.syntax workload.a has an invalid template: value is bad']);
  });

  it('turns a checker that throws into a diagnostic', () => {
    const text = withStep('  tool: { kind: noop }\n  when: x');

    expect(
      errors(text, () => {
        throw new Error('boom');
      }),
    ).toEqual(["7:9 template.syntax Step 's': invalid 'when' expression: boom"]);
  });
});

it('reports all problems of a playbook at once, in document order', () => {
  const text = withStep('  tool: { kind: nop }\n  loop: { in: [1] }\n  next: x');

  expect(diagnose(text).map((d) => d.code)).toEqual(['tool.unknown-kind', 'loop.iterator', 'step.unknown-target']);
});
