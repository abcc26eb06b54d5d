// Canonical JSON: one text for one value, so that equal states have equal checksums in every implementation. No space, keys in the order of
// their Unicode code points (= of their UTF-8 bytes), integers of 64 bits as digits, floats by their shortest digits and always with a
// fraction or an exponent.
import { ExactFloat, type ExactJson } from './exact-json.js';

export function canonicalText(value: ExactJson): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
    case 'bigint':
      return numberText(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      break;
  }
  if (value === null) return 'null';
  if (value instanceof ExactFloat) return floatText(value.value);
  if (isArray(value)) {
    let items = '';
    for (const item of value) items += items === '' ? canonicalText(item) : `,${canonicalText(item)}`;
    return `[${items}]`;
  }
  let members = '';
  for (const key of sortByCodePoint(Object.keys(value))) {
    // The key is one of its own, so there is a value.
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalText(value[key] as ExactJson)}`;
  }
  return `{${members}}`;
}

const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;

/** A number too great to be exact, and -0, were not written as integers of 64 bits: they are floats. */
export function numberText(value: number | bigint): string {
  if (typeof value === 'bigint') {
    return value >= MIN_INTEGER && value <= MAX_INTEGER ? value.toString() : floatText(Number(value));
  }
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : floatText(value);
}

/** The range in which a float is written without an exponent. */
const MIN_PLAIN = 1e-5;
const MIN_EXPONENTIAL = 1e16;

export function floatText(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size < MIN_PLAIN || size >= MIN_EXPONENTIAL) return value.toExponential();
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Only here does the order of UTF-16 code units differ from that of code points. */
const BEYOND_PLAIN = /[\ud800-\uffff]/;

/** In place. */
export function sortByCodePoint(keys: string[]): string[] {
  return keys.some((key) => BEYOND_PLAIN.test(key)) ? keys.sort(compareCodePoints) : keys.sort();
}

function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every single unit, so they go last. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** `Array.isArray` does not narrow readonly arrays out of a union. */
function isArray(value: ExactJson): value is readonly ExactJson[] {
  return Array.isArray(value);
}
