// Where a `set` writes to.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { stepOf } from './evolve-step.js';
import type { ExecutionState } from './state.js';

/**
 * `ctx.a.b` writes `{a: {b: …}}` into the context; `step.x` belongs to the step's own variables; a bare key means ctx. `iter.x` belongs to
 * one item of a loop and has ended with it: the event is its history.
 */
export function assign(state: ExecutionState, step: string, key: string, value: Json): void {
  const path = key.split('.');
  const scope = path.length > 1 ? path[0] : undefined;
  if (scope === 'iter' && stepOf(state, step).loop !== null) return;
  if (scope === 'step') return write(stepOf(state, step).vars, path.slice(1), value);
  write(state.ctx, scope === 'ctx' ? path.slice(1) : path, value);
}

function write(target: JsonObject, path: readonly string[], value: Json): void {
  const [head, ...rest] = path;
  if (head === undefined) return;
  if (rest.length === 0) {
    define(target, head, value);
    return;
  }
  const inner = Object.hasOwn(target, head) ? target[head] : undefined;
  const next: JsonObject = isObject(inner) ? { ...inner } : {};
  write(next, rest, value);
  define(target, head, next);
}

/** An author may call a variable `__proto__`; it is data like any other name. */
function define(target: JsonObject, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}
