// The functions a template can call. Time is data here: the caller puts it into the scope, so that an
// evaluation is repeatable.
import { TemplateError } from './error.js';
import { entriesOf } from './filters/maps.js';
import { isInteger, isNothing, kindOf, type MapValue, put } from './kinds.js';
import { LIMITS, spend } from './limits.js';
import type { Run, Scope } from './scope.js';
import { type Signature, signature } from './signature.js';
import { suggestion } from './suggest.js';
import { keyOf } from './values.js';
import { plain } from './views.js';

/** What templates may ask of the world outside their data. */
export interface TemplateFunctions {
  /** The time of the evaluation, ISO-8601 in UTC. */
  now(): string;
}

/** The root name under which the caller hands in the time. */
export const CLOCK_ROOT = '__now__';

export function functionsOf(scope: Scope): TemplateFunctions {
  return {
    now() {
      const now = scope.get(CLOCK_ROOT);
      if (typeof now !== 'string') throw new TemplateError('now() is not available here');
      return now;
    },
  };
}

interface TemplateFunction {
  readonly signature: Signature;
  /** Named arguments that are not parameters become keys of the result. */
  readonly takesKeys: boolean;
  call(args: readonly unknown[], keys: MapValue, run: Run): unknown;
}

const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  now: { signature: signature(''), takesKeys: false, call: (_args, _keys, run) => functionsOf(run.scope).now() },
  range: { signature: signature('start stop? step?'), takesKeys: false, call: (args, _keys, run) => range(args, run) },
  dict: { signature: signature('map?'), takesKeys: true, call: ([map], keys, run) => merged(map, keys, run) },
  namespace: {
    signature: signature('map?'),
    takesKeys: true,
    call: ([map], keys, run) => namespaced(merged(map, keys, run)),
  },
};

export function findFunction(name: string): TemplateFunction {
  const found = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (found) return found;
  throw new TemplateError(`unknown function '${name}'${suggestion(name, Object.keys(FUNCTIONS))}`);
}

/** Namespaces are the only thing a template may change: `{% set ns.total = … %}`. Data from the scope never is one. */
const namespaces = new WeakSet<object>();

function namespaced(map: MapValue): MapValue {
  namespaces.add(map);
  return map;
}

export function assignField(target: unknown, field: string, value: unknown): void {
  if (typeof target !== 'object' || target === null || !namespaces.has(target)) {
    throw new TemplateError(`only fields of a namespace() can be set, not of ${kindOf(target)}`);
  }
  put(target as MapValue, field, value);
}

function merged(map: unknown, keys: MapValue, run: Run): MapValue {
  const result: MapValue = {};
  for (const [key, value] of entriesOf(map, run)) put(result, keyOf(plain(key)), value);
  for (const key of Object.keys(keys)) put(result, key, keys[key]);
  return result;
}

function range(args: readonly unknown[], run: Run): number[] {
  const [first, second, third] = args.map((arg) => {
    if (isNothing(arg)) return undefined;
    if (isInteger(arg)) return Number(arg);
    throw new TemplateError(`range needs whole numbers, not ${kindOf(arg)}; convert with '| int'`);
  });
  const start = second === undefined ? 0 : (first ?? 0);
  const stop = second ?? first ?? 0;
  const step = third ?? 1;
  if (step === 0) throw new TemplateError('the step of range cannot be zero');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > LIMITS.range) throw new TemplateError(`range is limited to ${LIMITS.range} numbers`);
  spend(run, 1 + length);
  return Array.from({ length }, (_, index) => start + index * step);
}
