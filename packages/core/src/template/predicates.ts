// The tests behind `is`: questions about a value that are answered with true or false.
import { TemplateError } from './error.js';
import { print } from './json-text.js';
import { isInteger, isMap, isNothing, isNumeric, kindOf } from './kinds.js';
import { spendText } from './limits.js';
import { modulo } from './numbers.js';
import type { Run } from './scope.js';
import { type Signature, signature } from './signature.js';
import { suggestion } from './suggest.js';
import { contains, equal, order, truthy } from './values.js';
import { Synonym, settle } from './views.js';

export interface Test {
  readonly signature: Signature;
  ask(value: unknown, args: readonly unknown[], run: Run): boolean;
}

function test(params: string, ask: Test['ask']): Test {
  return { signature: signature(params), ask };
}

const isText = (value: unknown): boolean => typeof value === 'string' || value instanceof Synonym;

const eq = test('other', (value, [other], run) => equal(value, other, run));
const ne = test('other', (value, [other], run) => !equal(value, other, run));
const lt = test('other', (value, [other], run) => ordered(value, other, run, (sign) => sign < 0));
const le = test('other', (value, [other], run) => ordered(value, other, run, (sign) => sign <= 0));
const gt = test('other', (value, [other], run) => ordered(value, other, run, (sign) => sign > 0));
const ge = test('other', (value, [other], run) => ordered(value, other, run, (sign) => sign >= 0));
const startsWith = test('prefix', (value, [prefix], run) => print(value, run).startsWith(print(prefix, run)));
const endsWith = test('suffix', (value, [suffix], run) => print(value, run).endsWith(print(suffix, run)));
const none = test('', isNothing);
const defined = test('', (value) => !isNothing(value));

const TESTS: Readonly<Record<string, Test>> = {
  defined,
  undefined: none,
  none,
  null: none,
  string: test('', isText),
  number: test('', isNumeric),
  integer: test('', isInteger),
  float: test('', (value) => typeof value === 'number' && !Number.isInteger(value)),
  boolean: test('', (value) => typeof value === 'boolean'),
  true: test('', (value) => value === true),
  false: test('', (value) => value === false),
  truthy: test('', (value, _, run) => truthy(value, run)),
  falsy: test('', (value, _, run) => !truthy(value, run)),
  empty: test('', (value, _, run) => !truthy(value, run)),
  sequence: test('', (value) => Array.isArray(value) || isText(value)),
  list: test('', (value) => Array.isArray(value)),
  mapping: test('', isMap),
  iterable: test('', (value) => Array.isArray(value) || isText(value) || isMap(value)),
  odd: test('', (value) => Number(modulo(number('odd', value), 2)) === 1),
  even: test('', (value) => Number(modulo(number('even', value), 2)) === 0),
  divisibleby: test('num', (value, [by]) =>
    Number(modulo(number('divisibleby', value), number('divisibleby', by))) === 0),
  lower: test('', (value, _, run) => isText(value) && hasCase(print(value, run), (text) => text.toLowerCase())),
  upper: test('', (value, _, run) => isText(value) && hasCase(print(value, run), (text) => text.toUpperCase())),
  in: test('seq', (value, [container], run) => contains(container, value, run)),
  sameas: eq,
  eq,
  equalto: eq,
  '==': eq,
  ne,
  '!=': ne,
  lt,
  lessthan: lt,
  '<': lt,
  le,
  '<=': le,
  gt,
  greaterthan: gt,
  '>': gt,
  ge,
  '>=': ge,
  startingwith: startsWith,
  startswith: startsWith,
  endingwith: endsWith,
  endswith: endsWith,
};

export function findTest(name: string): Test {
  if (!Object.hasOwn(TESTS, name))
    throw new TemplateError(`unknown test '${name}'${suggestion(name, Object.keys(TESTS))}`);
  return TESTS[name] ?? none;
}

export function applyTest(predicate: Test, value: unknown, args: readonly unknown[], run: Run): boolean {
  // Whether something is there at all can be said without building the data behind a view.
  if (predicate === defined || predicate === none) return predicate.ask(value, args, run);
  const data = settle(value);
  if (typeof data === 'string') spendText(run, data.length);
  return predicate.ask(data, args, run);
}

function ordered(a: unknown, b: unknown, run: Run, holds: (sign: number) => boolean): boolean {
  const sign = order(a, b, run);
  return sign !== undefined && holds(sign);
}

function number(name: string, value: unknown): number | bigint {
  if (isNumeric(value)) return value;
  if (typeof value === 'boolean') return Number(value);
  throw new TemplateError(`the test '${name}' needs a number, not ${kindOf(value)}`);
}

/** Python's islower and isupper: there is at least one letter, and all letters have the case. */
function hasCase(text: string, convert: (text: string) => string): boolean {
  return text === convert(text) && text.toLowerCase() !== text.toUpperCase();
}
