// Where a template finds its root names. A scope is asked for one name at a time, so a context of
// thousands of rows costs nothing until a template mentions it.
import type { Budget } from './limits.js';

export interface Scope {
  /** The value of a root name; `undefined` when the scope does not know it. */
  get(name: string): unknown;
}

export function scopeOf(values: Record<string, unknown>, parent?: Scope): Scope {
  return {
    get: (name) => (Object.hasOwn(values, name) ? values[name] : parent?.get(name)),
  };
}

/** One evaluation in progress: what compiled closures read, charge and write to. */
export interface Run extends Budget {
  readonly scope: Scope;
  /** Values of `set` names and loop variables, by the slot the compiler gave them. */
  readonly locals: unknown[];
  /** Offset of the operation being carried out, for the error message. */
  at: number;
  /** Text rendered so far. */
  out: string;
}
