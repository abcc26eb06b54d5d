// The schema and the parser must not disagree: what the parser takes, an editor must not underline.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json/types.js';
import { TOOL_KINDS } from './kinds.js';
import { parsePlaybook } from './parse.js';
import { playbookSchema } from './schema.js';
import { readYaml } from './yaml.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
// Strict apart from unions of types, which this language is made of; `required` beside `properties` of an outer level is meant.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, strictTypes: false });
const validate = ajv.compile(playbookSchema());

function problems(document: unknown): string[] {
  validate(document);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => join(folder, name));
}

function documentOf(text: string): Json {
  const { value } = readYaml(text);
  if (value === undefined) throw new Error('this is not YAML');
  return value;
}

const examples = filesUnder(join(root, 'examples'));
const corpus = filesUnder(join(root, '../shared/corpus/playbooks'));

describe('the playbook schema', () => {
  it('is a schema of draft 2020-12', () => {
    expect(ajv.validateSchema(playbookSchema())).toBe(true);
  });

  it('finds the examples', () => {
    expect(examples.length).toBeGreaterThan(3);
  });

  it.each([...examples, ...corpus])('takes %s', (file) => {
    expect(problems(documentOf(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('describes every field it names', () => {
    const silent: string[] = [];
    collectSilent(playbookSchema(), '', silent);
    expect(silent).toEqual([]);
  });
});

/** Paths of properties an author would see without an explanation. */
function collectSilent(schema: Json, path: string, silent: string[]): void {
  if (typeof schema !== 'object' || schema === null) return;
  if (Array.isArray(schema)) {
    for (const [index, part] of schema.entries()) collectSilent(part, `${path}[${index}]`, silent);
    return;
  }
  for (const [key, part] of Object.entries(schema)) {
    if (key === 'if' || key === 'examples') continue;
    collectSilent(part, `${path}.${key}`, silent);
    if (key !== 'properties') continue;
    for (const [name, field] of Object.entries(part as JsonObject)) {
      const isHelp = typeof field === 'object' && field !== null && ('description' in field || '$ref' in field);
      const isCheck = field === false || (typeof field === 'object' && field !== null && 'not' in field);
      const isDetail = typeof field === 'object' && field !== null && 'const' in field;
      if (!isHelp && !isCheck && !isDetail && name !== 'rules' && name !== 'tasks') silent.push(`${path}.${name}`);
    }
  }
}

const step = (fields: object) => ({ step: 'start', tool: { kind: 'noop' }, ...fields });
const playbook = (steps: object[], more: object = {}) => ({
  apiVersion: 'noetl.io/v2',
  kind: 'Playbook',
  metadata: { path: 'a/b' },
  ...more,
  workflow: steps,
});
const tool = (fields: object) => playbook([{ step: 'start', tool: { kind: 'noop', ...fields } }]);
/** In YAML, where `then` is only a word. */
const rules = (yaml: string) => tool({ spec: { policy: { rules: documentOf(yaml) } } });
const next = (value: unknown) => playbook([step({ next: value }), { step: 'other', tool: { kind: 'noop' } }]);

describe('a form that the parser takes', () => {
  it.each<[string, object]>([
    ['apiVersion v10', playbook([step({})], { apiVersion: 'noetl.io/v10' })],
    ['kind in any case', playbook([step({})], { kind: 'agent' })],
    ['metadata with a name only', playbook([step({})], { metadata: { name: 'x' } })],
    ['labels that are not text', playbook([step({})], { metadata: { name: 'x', labels: { a: 1, b: true } } })],
    ['keys without a value', playbook([step({ next: null, loop: null, input: null, spec: null })], { workload: null })],
    ['root vars', playbook([step({})], { vars: { a: 1 } })],
    ['unknown root keys', playbook([step({})], { tracing: true })],
    ['an executor', playbook([step({})], { executor: { profile: 'local', spec: { entry_step: 'start' } } })],
    ['a keychain', playbook([step({})], { keychain: [{ name: 'k', kind: 'bearer', token: 'x' }] })],
    ['a workbook list', playbook([step({})], { workbook: [{ name: 't', tool: { kind: 'noop' } }] })],
    ['a workbook of bare tools', playbook([step({})], { workbook: [{ name: 't', kind: 'noop' }] })],
    ['a workbook map', playbook([step({})], { workbook: { tasks: { t: { kind: 'noop' } } } })],
    ['a step whose name is a number', playbook([{ step: 1, tool: { kind: 'noop' } }])],
    ['a flat pipeline', playbook([step({ tool: [{ name: 'a', kind: 'noop' }, { kind: 'noop' }] })])],
    ['a labelled pipeline', playbook([step({ tool: [{ a: { kind: 'noop' } }] })])],
    ['args as a command line', tool({ kind: 'container', args: ['-x'] })],
    ['headers as a template', tool({ kind: 'http', url: 'http://x', headers: '{{ h }}' })],
    ['a phased timeout', tool({ spec: { timeout: { connect: 1, read: 2 } } })],
    ['a timeout as a duration', tool({ spec: { timeout: '5m' } })],
    ['a timeout as a template', tool({ spec: { timeout: '{{ workload.t }}' } })],
    ['a policy that is the list', tool({ spec: { policy: documentOf('- { when: true, then: { do: continue } }') } })],
    ['rule: when and then', rules(`- { when: "{{ x }}", then: { do: "retry", attempts: "3", backoff: "fixed" } }`)],
    ['rule: else.then', rules(`- { else: { then: { do: "continue" } } }`)],
    ['rule: else with do', rules(`- { else: { do: "continue", set: { "ctx.a": 1 } } }`)],
    ['rule: empty else beside then', rules(`- { else: null, then: { do: "continue" } }`)],
    ['rule: then alone', rules(`- { then: { do: "fail" } }`)],
    ['rule: do on the rule itself', rules(`- { when: "x", do: "break" }`)],
    ['rule: a jump', rules(`- { when: "x", then: { do: "jump", to: "previous" } }`)],
    ['eval', tool({ eval: [{ expr: '{{ x }}', do: 'retry' }, { else: { do: 'continue' } }] })],
    ['next: a name', next('other')],
    ['next: names', next(['other', 'end'])],
    ['next: arcs as a list', next([{ step: 'other', when: '{{ x }}', args: { a: 1 } }])],
    ['next: one arc', next({ step: 'other', when: true })],
    ['next: a router', next({ spec: { mode: 'INCLUSIVE' }, arcs: [{ step: 'other', set: { 'ctx.a': 1 } }] })],
    ['next: an empty list', next([])],
    ['a guard that is a boolean', playbook([step({ when: false })])],
    [
      'admit rules',
      playbook([step({ spec: { policy: { admit: documentOf('rules: [{ when: x, then: { allow: true } }]') } } })]),
    ],
    ['a loop over a template', playbook([step({ loop: { in: '{{ xs }}', iterator: 'x' } })])],
    ['a loop over a list', playbook([step({ loop: { in: [1, 2], iterator: 'x', spec: { mode: 'Parallel' } } })])],
    [
      'a loop with a limit from a template',
      playbook([step({ loop: { in: '{{ xs }}', iterator: 'x', spec: { max_in_flight: '{{ n }}' } } })]),
    ],
    ['a cursor loop', playbook([step({ loop: { cursor: { kind: 'postgres', claim: 'SELECT 1' }, iterator: 'x' } })])],
    ['legacy set', playbook([step({ set_ctx: { a: 1 }, vars: { b: 2 } })])],
    ['on_error in any case', playbook([step({ spec: { on_error: 'Continue', max_attempts: '2' } })])],
    ...TOOL_KINDS.filter((kind) => kind !== 'workbook').map((kind): [string, object] => [
      `kind ${kind}`,
      tool({ kind }),
    ]),
  ])('%s: validates', (_, document) => {
    expect(parserErrors(document)).toEqual([]);
    expect(problems(document)).toEqual([]);
  });
});

describe('a form that the parser refuses', () => {
  it.each<[string, object]>([
    ['another apiVersion', playbook([step({})], { apiVersion: 'v1' })],
    ['another kind', playbook([step({})], { kind: 'Pod' })],
    ['no metadata', { apiVersion: 'noetl.io/v2', kind: 'Playbook', workflow: [step({})] }],
    ['metadata without a name', playbook([step({})], { metadata: { description: 'x' } })],
    ['no step', playbook([])],
    ['a step without a name', playbook([{ tool: { kind: 'noop' } }])],
    ['a step without a tool', playbook([{ step: 'start' }])],
    ['a tool without a kind', playbook([{ step: 'start', tool: { url: 'x' } }])],
    ['an unknown kind', tool({ kind: 'pyton' })],
    ['an empty pipeline', playbook([step({ tool: [] })])],
    ['a pipeline item with two labels', playbook([step({ tool: [{ a: { kind: 'noop' }, b: { kind: 'noop' } }] })])],
    ['case', playbook([step({ case: [] })])],
    ['type on a step', playbook([step({ type: 'http' })])],
    ['a workload that is a list', playbook([step({})], { workload: [1] })],
    ['an empty guard', playbook([step({ when: ' ' })])],
    ['an arc without a target', next({ arcs: [{ when: 'x' }] })],
    ['an unknown action', rules(`- { when: "x", then: { do: "explode" } }`)],
    ['a rule without an action', rules(`- { when: "x" }`)],
    ['a jump to nowhere', rules(`- { when: "x", then: { do: "jump" } }`)],
    ['a policy without rules', tool({ spec: { policy: { mode: 'exclusive' } } })],
    ['admit without rules', playbook([step({ spec: { policy: { admit: { rules: null } } } })])],
    ['a loop without an iterator', playbook([step({ loop: { in: '{{ xs }}' } })])],
    ['a loop over nothing', playbook([step({ loop: { iterator: 'x' } })])],
    ['a loop over both', playbook([step({ loop: { in: [1], cursor: { claim: 'x' }, iterator: 'x' } })])],
    ['an unknown loop mode', playbook([step({ loop: { in: [1], iterator: 'x', spec: { mode: 'both' } } })])],
    ['a limit of zero', playbook([step({ loop: { in: [1], iterator: 'x', spec: { max_in_flight: 0 } } })])],
    ['a timeout that is no time', playbook([step({ spec: { timeout: 'soon' } })])],
    ['attempts from a template', playbook([step({ spec: { max_attempts: '{{ n }}' } })])],
    ['an unknown on_error', playbook([step({ spec: { on_error: 'ignore' } })])],
    ['a keychain entry without a name', playbook([step({})], { keychain: [{ kind: 'bearer' }] })],
  ])('%s: does not validate', (_, document) => {
    expect(parserErrors(document)).not.toEqual([]);
    expect(problems(document)).not.toEqual([]);
  });
});

/** JSON is YAML. */
function parserErrors(document: object): string[] {
  return parsePlaybook(JSON.stringify(document))
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ message }) => message);
}
