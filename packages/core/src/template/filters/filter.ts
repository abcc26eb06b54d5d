// What a filter is, and how filters read their arguments.
import { TemplateError } from '../error.js';
import { print } from '../json-text.js';
import { isInteger, isNothing, isNumeric, kindOf } from '../kinds.js';
import { type Budget, spend } from '../limits.js';
import type { Run } from '../scope.js';
import { type Signature, signature } from '../signature.js';
import { iterate } from '../values.js';

export interface Filter {
  readonly signature: Signature;
  /** Receives step values as the template sees them instead of their data. */
  readonly keepsViews: boolean;
  /** Only respells text, so a word with synonyms keeps them. */
  readonly respells: boolean;
  /** Which argument names another filter or test, for checking it at compile time. */
  readonly refersTo?: { readonly argument: number; readonly registry: 'filter' | 'test' };
  apply(value: unknown, args: readonly unknown[], run: Run): unknown;
}

export type FilterTable = Readonly<Record<string, Filter>>;

export function filter(
  params: string,
  apply: Filter['apply'],
  traits: Partial<Pick<Filter, 'keepsViews' | 'respells' | 'refersTo'>> = {},
): Filter {
  return { signature: signature(params), keepsViews: false, respells: false, ...traits, apply };
}

/** The items a list filter works on; charged, because it is about to visit them. */
export function itemsOf(value: unknown, budget: Budget): readonly unknown[] {
  const items = iterate(value, budget);
  spend(budget, 1 + items.length);
  return items;
}

/** Text of any value: filters on text print what is not text. */
export const textOf = print;

export function textArgument(value: unknown, fallback: string, budget: Budget): string {
  return isNothing(value) ? fallback : print(value, budget);
}

export function integerArgument(name: string, value: unknown, fallback: number): number {
  if (isNothing(value)) return fallback;
  if (isInteger(value)) return Number(value);
  throw new TemplateError(`the argument '${name}' must be a whole number, not ${kindOf(value)}`);
}

export function numberOperand(name: string, value: unknown): number | bigint {
  if (isNumeric(value)) return value;
  if (typeof value === 'boolean') return Number(value);
  throw new TemplateError(`${name} needs a number, not ${kindOf(value)}; convert it with '| int' or '| float'`);
}
