// Playbooks with random damage: where the parser still has no complaint, the schema must have none either.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Json, JsonObject } from '../json/types.js';
import { parsePlaybook } from './parse.js';
import { playbookSchema } from './schema.js';
import { readYaml } from './yaml.js';

/** Every form of the language once. */
const FULL = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: full, path: a/full, description: d, labels: { team: x }, tags: [t], agent: true }
workload: { a: 1, xs: [1, 2] }
vars: { legacy: 1 }
keychain: [{ name: k, kind: bearer, token: x, map: { a: b } }]
executor: { profile: auto, spec: { entry_step: start, final_step: last, no_next_is_error: false } }
workbook: [{ name: greet, tool: { kind: noop, input: { a: 1 } } }]
workflow:
  - step: start
    desc: text
    when: "{{ a }}"
    tool: { kind: http, url: u, method: GET, headers: { a: b }, input: { x: 1 }, args: { y: 1 }, output: { scope: step },
      spec: { timeout: 5s, policy: { rules: [
        { when: "{{ a }}", then: { do: retry, attempts: 2, backoff: linear, delay: 1 } },
        { else: { then: { do: continue, set: { ctx.a: 1 } } } }] } } }
    set: { ctx.a: 1 }
    spec: { next_mode: inclusive, timeout: 3, on_error: fail, idempotent: true, max_attempts: 2,
      policy: { admit: { rules: [{ when: a, then: { allow: true } }, { else: { then: { allow: false } } }] },
        failure: { mode: fail_fast } } }
    next: { spec: { mode: exclusive }, arcs: [{ step: each, when: "{{ a }}", set: { ctx.b: 1 }, args: { c: 1 } }, { step: end }] }
  - step: each
    loop: { in: "{{ xs }}", iterator: x, spec: { mode: parallel, max_in_flight: 2, on_error: stop, frame: { max_rows: 1 } } }
    tool: [{ name: one, kind: python, code: x }, { two: { kind: noop, eval: [{ expr: a, do: jump, to: one }, { else: { do: fail } }] } }]
    next: [rows, { step: end, when: true }]
  - step: rows
    loop: { cursor: { kind: postgres, auth: pg, claim: x }, iterator: row, mode: cursor, spec: { policy: { on_error: stop } } }
    tool: { kind: workbook, name: greet }
    input: { a: 1 }
    spec: { policy: { lifecycle: { timeout_s: 3 } } }
    output: { inline_max_bytes: 1 }
    emit: [{ type: x.y, object: { type: x, id: 1 } }]
    next: last
  - step: last
    vars: { a: 1 }
    tool: { kind: noop, name: n, set_ctx: { a: 1 }, spec: { result: { a: 1 }, policy: [{ then: { do: break } }] } }
`;

const validate = new Ajv2020({ strict: false }).compile(playbookSchema());

function read(text: string): Json {
  const { value } = readYaml(text);
  if (value === undefined) throw new Error('this is not YAML');
  return value;
}

/** Every place in a document, as the keys that lead to it. */
function places(value: Json, at: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [at, ...keys.flatMap((key) => places((value as JsonObject)[key] ?? null, [...at, key]))];
}

function damaged(document: Json, at: readonly (string | number)[], replacement: Json | undefined): Json {
  const [key, ...rest] = at;
  if (key === undefined) return replacement ?? null;
  if (Array.isArray(document)) {
    if (rest.length === 0 && replacement === undefined) return document.filter((_, index) => index !== key);
    return document.map((item, index) => (index === key ? damaged(item, rest, replacement) : item));
  }
  const map = document as JsonObject;
  if (rest.length === 0 && replacement === undefined) {
    return Object.fromEntries(Object.entries(map).filter(([name]) => name !== key));
  }
  return { ...map, [key]: damaged(map[key] ?? null, rest, replacement) };
}

const full = read(FULL);
const VALUES: (Json | undefined)[] = [
  undefined,
  null,
  true,
  0,
  1,
  -1,
  1.5,
  '',
  ' ',
  'x',
  '5',
  '{{ x }}',
  'end',
  [],
  ['x'],
  [1],
  [{}],
  {},
  { a: 1 },
  { kind: 'noop' },
];

it('the document that is damaged is a playbook', () => {
  expect(parsePlaybook(JSON.stringify(full)).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(validate(full)).toBe(true);
});

it('takes whatever the parser takes', () => {
  const hit = fc.tuple(fc.constantFrom(...places(full).slice(1)), fc.constantFrom(...VALUES));
  fc.assert(
    fc.property(fc.array(hit, { minLength: 1, maxLength: 3 }), (hits) => {
      const document = hits.reduce(
        (whole, [at, value]) => (exists(whole, at) ? damaged(whole, at, value) : whole),
        full,
      );
      const { diagnostics } = parsePlaybook(JSON.stringify(document));
      if (diagnostics.some(({ severity }) => severity === 'error')) return;
      validate(document);
      expect((validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

/** An earlier hit may have taken the place away. */
function exists(document: Json, at: readonly (string | number)[]): boolean {
  const [key, ...rest] = at;
  if (key === undefined) return true;
  if (typeof document !== 'object' || document === null || !(key in document)) return false;
  return exists((document as JsonObject)[key] ?? null, rest);
}
