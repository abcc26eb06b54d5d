// Filters that change the type of a value: numbers out of text, JSON in and out.
import { type Json, JsonSyntaxError, parseJson } from '../../json/index.js';
import { TemplateError } from '../error.js';
import { jsonText } from '../json-text.js';
import { isNothing, isNumeric } from '../kinds.js';
import { integerLiteral, negate, roundHalfEven, truncate } from '../numbers.js';
import { isFalseWord, truthy } from '../values.js';
import { type FilterTable, filter, integerArgument, numberOperand, textOf } from './filter.js';

const DIGITS: Readonly<Record<number, RegExp>> = {
  2: /^(?:0b)?[01]+$/i,
  8: /^(?:0o)?[0-7]+$/i,
  10: /^\d+$/,
  16: /^(?:0x)?[\da-f]+$/i,
};
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export const conversionFilters: FilterTable = {
  int: filter('default? base?', (value, [fallback, base]) => {
    const whole = wholeNumber(value, integerArgument('base', base, 10));
    return whole ?? fallback ?? 0;
  }),
  float: filter('default?', (value, [fallback]) => decimalNumber(value) ?? fallback ?? 0),
  bool: filter('', (value, _, run) => (typeof value === 'string' ? !isFalseWord(value) : truthy(value, run))),
  abs: filter('', (value) => {
    const number = numberOperand('abs', value);
    return number < 0 ? negate(number) : number;
  }),
  round: filter('precision? method?', (value, [precision, method], run) => {
    const number = numberOperand('round', value);
    const places = integerArgument('precision', precision, 0);
    const how = isNothing(method) ? 'common' : textOf(method, run);
    if (typeof number === 'bigint') return number;
    if (how === 'common') return roundHalfEven(number, places);
    if (how !== 'ceil' && how !== 'floor') {
      throw new TemplateError(`round knows the methods common, ceil and floor, not '${how}'`);
    }
    const unit = 10 ** places;
    const scaled = (how === 'ceil' ? Math.ceil : Math.floor)(number * unit) / unit;
    return Number.isFinite(scaled) ? scaled : number;
  }),
  tojson: filter('indent?', (value, [indent], run) => {
    return jsonText(value, run, Math.min(16, Math.max(0, integerArgument('indent', indent, 0))));
  }),
  fromjson: filter('', (value, _, run) => (isNothing(value) ? undefined : readJson(textOf(value, run)))),
};

function wholeNumber(value: unknown, base: number): number | bigint | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (isNumeric(value))
    return Number.isFinite(Number(value)) || typeof value === 'bigint' ? truncate(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim().replace(/(?<=\d)_(?=\d)/g, '');
  const digits = text.replace(/^[+-]/, '');
  const accepted = DIGITS[base];
  if (accepted === undefined) throw new TemplateError(`int knows the bases 2, 8, 10 and 16, not ${base}`);
  if (accepted.test(digits)) {
    const prefix = { 2: '0b', 8: '0o', 16: '0x' }[base] ?? '';
    const number = integerLiteral(prefix + digits.toLowerCase().replace(/^0[box]/, base === 10 ? '$&' : ''));
    return text.startsWith('-') ? negate(number) : number;
  }
  const decimal = base === 10 ? decimalNumber(text) : undefined;
  return decimal === undefined ? undefined : truncate(decimal);
}

function decimalNumber(value: unknown): number | bigint | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (isNumeric(value)) return value;
  if (typeof value !== 'string' || !DECIMAL.test(value.trim())) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function readJson(text: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new TemplateError(`fromjson: the text is not JSON (${error.message})`);
    throw error;
  }
}
