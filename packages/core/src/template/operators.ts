// The binary operators and slices on every kind of value they accept.
import type { ArithmeticOperator } from './ast.js';
import { TemplateError } from './error.js';
import { isInteger, isNothing, isNumeric, kindOf } from './kinds.js';
import { allowItems, allowText, type Budget, LIMITS, spend, spendText } from './limits.js';
import { add, divide, floorDivide, modulo, multiply, type Numeric, negate, power, subtract } from './numbers.js';
import { formatPercent } from './percent-format.js';
import { contentOf } from './reference.js';
import { plain } from './views.js';

const NUMERIC: Readonly<Record<ArithmeticOperator, (a: Numeric, b: Numeric) => Numeric>> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '//': floorDivide,
  '%': modulo,
  '**': power,
};

/** Both sides are present: the compiler has already refused undefined and null by name. */
export function arithmetic(op: ArithmeticOperator, a: unknown, b: unknown, budget: Budget): unknown {
  const left = operand(a);
  const right = operand(b);
  if (isNumeric(left) && isNumeric(right)) return NUMERIC[op](left, right);
  if (op === '+') {
    if (typeof left === 'string' && typeof right === 'string') {
      allowText(budget, left.length + right.length);
      return left + right;
    }
    if (Array.isArray(left) && Array.isArray(right)) {
      allowItems(budget, left.length + right.length);
      return [...left, ...right];
    }
  }
  if (op === '*' && isInteger(right)) {
    const repeated = repeat(left, Number(right), budget);
    if (repeated !== undefined) return repeated;
  }
  if (op === '*' && isInteger(left)) {
    const repeated = repeat(right, Number(left), budget);
    if (repeated !== undefined) return repeated;
  }
  if (op === '%' && typeof left === 'string')
    return formatPercent(left, Array.isArray(right) ? right : [right], budget);
  const textAndOther = op === '+' && (typeof left === 'string' || typeof right === 'string');
  const hint = textAndOther ? "; join text with '~', or convert it with '| int'" : '';
  throw new TemplateError(`'${op}' does not work on ${kindOf(left)} and ${kindOf(right)}${hint}`);
}

export function signed(value: unknown, negative: boolean): Numeric {
  const number = operand(value);
  if (!isNumeric(number)) throw new TemplateError(`a sign needs a number, not ${kindOf(number)}`);
  return negative ? negate(number) : number;
}

function operand(value: unknown): unknown {
  const data = plain(value);
  return typeof data === 'boolean' ? Number(data) : data;
}

function repeat(value: unknown, times: number, budget: Budget): string | unknown[] | undefined {
  const count = Math.max(0, times);
  if (typeof value === 'string') {
    allowText(budget, value.length * count, LIMITS.repeat);
    return value.repeat(value === '' ? 0 : count);
  }
  if (!Array.isArray(value)) return undefined;
  allowItems(budget, value.length * count);
  return value.length === 0 ? [] : Array.from({ length: value.length * count }, (_, i) => value[i % value.length]);
}

/** `of[start:stop:step]` with Python's bounds. */
export function slice(of: unknown, start: unknown, stop: unknown, step: unknown, budget: Budget): unknown {
  const data = contentOf(plain(of));
  if (isNothing(data)) return undefined;
  if (typeof data !== 'string' && !Array.isArray(data))
    throw new TemplateError(`cannot take a slice of ${kindOf(data)}`);
  const items: readonly unknown[] = typeof data === 'string' ? [...data] : data;
  typeof data === 'string' ? spendText(budget, data.length) : spend(budget, 1 + data.length);

  const stride = bound(step) ?? 1;
  if (stride === 0) throw new TemplateError('the step of a slice cannot be zero');
  const [lowest, highest] = stride > 0 ? [0, items.length] : [-1, items.length - 1];
  const clip = (value: number | undefined, fallback: number): number => {
    if (value === undefined) return fallback;
    const index = value < 0 ? value + items.length : value;
    return Math.min(Math.max(index, lowest), highest);
  };
  const from = clip(bound(start), stride > 0 ? lowest : highest);
  const to = clip(bound(stop), stride > 0 ? highest : lowest);
  const picked: unknown[] = [];
  for (let i = from; stride > 0 ? i < to : i > to; i += stride) picked.push(items[i]);
  return typeof data === 'string' ? picked.join('') : picked;
}

function bound(value: unknown): number | undefined {
  const data = plain(value);
  if (isNothing(data)) return undefined;
  if (isInteger(data)) return Number(data);
  throw new TemplateError(`a slice needs whole numbers, not ${kindOf(data)}`);
}
