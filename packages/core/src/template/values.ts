// What templates do with values: look into them, compare them, ask whether they are true, print them.
// Null and undefined behave alike everywhere. Own keys of plain data are all a template can reach.
import type { Json } from '../json/types.js';
import { TemplateError } from './error.js';
import { isMap, isNothing, isNumeric, kindOf } from './kinds.js';
import { allowDataDepth, type Budget, spend, spendText } from './limits.js';
import { contentOf, contentWith } from './reference.js';
import { Synonym, settle, View } from './views.js';

/** Pairs made by `groupby`, which also answer to the names `grouper` and `list`. */
const groups = new WeakSet<readonly unknown[]>();

export function groupPair(grouper: unknown, list: readonly unknown[]): unknown[] {
  const pair = [grouper, list];
  groups.add(pair);
  return pair;
}

/** `of.key` and `of['key']`. */
export function member(of: unknown, key: string): unknown {
  if (typeof of !== 'object' || of === null) return undefined;
  if (of instanceof View) return admit(of.get(key));
  if (Array.isArray(of)) return groups.has(of) ? { grouper: of[0], list: of[1] }[key] : undefined;
  if (!isMap(of)) return undefined;
  const map = Object.hasOwn(of, key) ? of : contentWith(of, key);
  return map !== undefined && Object.hasOwn(map, key) ? admit(map[key]) : undefined;
}

/** `of[key]`: position in a list or text, key in a map; whatever is not there is undefined. */
export function item(of: unknown, key: unknown, budget: Budget): unknown {
  if (typeof key === 'string') return member(of, key);
  if (key instanceof Synonym) return member(of, key.primary);
  if (!isNumeric(key)) return undefined;
  const settled = contentOf(settle(of));
  if (Array.isArray(settled)) return settled.at(wrap(key, settled.length));
  if (typeof settled === 'string') {
    return character(settled, key, budget);
  }
  // Keys of JSON maps are always text, also when they look like numbers.
  return member(settled, String(key));
}

function character(text: string, key: number | bigint, budget: Budget): string | undefined {
  spendText(budget, text.length);
  // Without surrogates every unit is a character, and nothing has to be taken apart.
  if (!/[\ud800-\udfff]/.test(text)) return text[wrap(key, text.length)];
  spend(budget, text.length);
  const characters = [...text];
  return characters[wrap(key, characters.length)];
}

function wrap(key: number | bigint, length: number): number {
  const index = Number(key);
  // Out of range on either side must not wrap around a second time.
  return Number.isInteger(index) && index >= -length && index < length ? (index < 0 ? index + length : index) : length;
}

/** Functions and symbols do not exist for a template, wherever they came from. */
function admit(value: unknown): unknown {
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
}

export function truthy(value: unknown, budget: Budget): boolean {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      return value !== '';
    case 'number':
      return value !== 0 && !Number.isNaN(value);
    case 'bigint':
      return value !== 0n;
    case 'object':
      if (value === null) return false;
      if (Array.isArray(value)) return value.length > 0;
      if (value instanceof View) return truthy(value.settle(), budget);
      if (value instanceof Synonym) return value.primary !== '';
      return hasKeys(value, budget);
    default:
      return false;
  }
}

function hasKeys(map: object, budget: Budget): boolean {
  const { length } = Object.keys(map);
  spend(budget, length);
  return length > 0;
}

/** Spellings of "no" in text, as conditions and the filter `bool` understand them. */
const FALSE_WORDS: ReadonlySet<string> = new Set(['', 'false', '0', '0.0', 'no', 'none', 'null', 'off', '{}', '[]']);

export function isFalseWord(text: string): boolean {
  return FALSE_WORDS.has(text.trim().toLowerCase());
}

export function equal(a: unknown, b: unknown, budget: Budget, depth = 0): boolean {
  if (a === b) {
    if (typeof a === 'string') spendText(budget, a.length);
    return true;
  }
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b);
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length === b.length) spendText(budget, a.length);
    return false;
  }
  const left = settle(a);
  const right = settle(b);
  if (left instanceof Synonym) return means(left, right);
  if (right instanceof Synonym) return means(right, left);
  if (isScalar(left) && isScalar(right)) return rank(left) === rank(right) && sameScalar(left, right);
  return equalCollections(left, right, budget, depth);
}

function equalCollections(left: unknown, right: unknown, budget: Budget, depth: number): boolean {
  allowDataDepth(depth);
  spend(budget, 1);
  if (Array.isArray(left) && Array.isArray(right)) {
    if (left.length !== right.length) return false;
    spend(budget, 1 + left.length);
    return left.every((value, index) => equal(value, right[index], budget, depth + 1));
  }
  if (!isMap(left) || !isMap(right)) return left === right;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  spend(budget, 1 + keys.length);
  return keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key], budget, depth + 1));
}

function means(word: Synonym, other: unknown): boolean {
  if (typeof other === 'string') return word.means(other);
  return other instanceof Synonym && (word.means(other.primary) || other.means(word.primary));
}

type Scalar = string | number | bigint | boolean;

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || isNumeric(value);
}

function rank(value: Scalar): 'text' | 'number' {
  return typeof value === 'string' ? 'text' : 'number';
}

function sameScalar(a: Scalar, b: Scalar): boolean {
  // Loose equality on purpose: it compares number and bigint by exact mathematical value.
  const left = typeof a === 'boolean' ? Number(a) : a;
  const right = typeof b === 'boolean' ? Number(b) : b;
  // biome-ignore lint/suspicious/noDoubleEquals: both sides are of one rank, so nothing is coerced to text
  return left == right;
}

/**
 * Negative, zero or positive like a sort function; undefined when either side is nothing, which makes every
 * ordering comparison false.
 */
export function order(a: unknown, b: unknown, budget: Budget, depth = 0): number | undefined {
  const left = scalarOf(settle(a));
  const right = scalarOf(settle(b));
  if (isNothing(left) || isNothing(right)) return undefined;
  if (isScalar(left) && isScalar(right) && rank(left) === rank(right)) {
    if (typeof left === 'string') spendText(budget, left.length);
    return left < right ? -1 : left > right ? 1 : 0;
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    allowDataDepth(depth);
    spend(budget, 1 + Math.min(left.length, right.length));
    for (let i = 0; i < left.length && i < right.length; i++) {
      if (!equal(left[i], right[i], budget)) return order(left[i], right[i], budget, depth + 1);
    }
    return left.length - right.length;
  }
  const numberAndText = isScalar(left) && isScalar(right) ? "; convert the text with '| int' or '| float'" : '';
  throw new TemplateError(`cannot order ${kindOf(left)} and ${kindOf(right)}${numberAndText}`);
}

function scalarOf(value: unknown): unknown {
  if (value instanceof Synonym) return value.primary;
  return typeof value === 'boolean' ? Number(value) : value;
}

/** `needle in container`. */
export function contains(container: unknown, needle: unknown, budget: Budget): boolean {
  const within = contentOf(settle(container));
  if (isNothing(within)) return false;
  if (Array.isArray(within)) {
    spend(budget, 1 + within.length);
    return within.some((value) => equal(value, needle, budget));
  }
  const wanted = settle(needle);
  if (isMap(within)) {
    if (wanted instanceof Synonym) return Object.keys(within).some((key) => wanted.means(key));
    return (typeof wanted === 'string' || isNumeric(wanted)) && Object.hasOwn(within, String(wanted));
  }
  const text = within instanceof Synonym ? within.primary : within;
  if (typeof text !== 'string') throw new TemplateError(`'in' needs a list, a map or text, not ${kindOf(text)}`);
  if (isNothing(wanted)) return false;
  spendText(budget, text.length);
  if (wanted instanceof Synonym) return wanted.occursIn(text);
  if (typeof wanted === 'string') return text.includes(wanted);
  throw new TemplateError(`cannot look for ${kindOf(wanted)} in text; convert it with '| string'`);
}

/** What `for`, `list` and the list filters run over: items, keys of a map, characters of text; nothing is empty. */
export function iterate(value: unknown, budget: Budget): readonly unknown[] {
  const settled = contentOf(settle(value));
  if (isNothing(settled)) return [];
  if (Array.isArray(settled)) return settled;
  if (isMap(settled)) {
    const keys = Object.keys(settled);
    spend(budget, keys.length);
    return keys;
  }
  const text = settled instanceof Synonym ? settled.primary : settled;
  if (typeof text !== 'string') throw new TemplateError(`cannot iterate over ${kindOf(text)}`);
  spend(budget, text.length);
  return [...text];
}

/** A key of a map literal: JSON keys are text. */
export function keyOf(value: unknown): string {
  const key = scalarOf(value);
  if (typeof key === 'string') return key;
  if (isNumeric(key)) return String(key);
  throw new TemplateError(`a key must be text or a number, not ${kindOf(key as Json)}`);
}
