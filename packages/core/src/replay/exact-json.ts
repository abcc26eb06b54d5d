// JSON that keeps what a checksum depends on: `1.0` is not `1`, and no integer is rounded. A JavaScript number cannot say that it was
// written with a fraction, so a float with a whole value is an `ExactFloat` here; every other value is as `parseJson` gives it, and
// whatever `parseJson` gave is exact JSON too.
import { parseJson } from '../json/index.js';

/** A number that was written as a float though its value is whole: `1.0`, `2e3`. */
export class ExactFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export type ExactJson = null | boolean | number | bigint | string | ExactFloat | readonly ExactJson[] | ExactObject;

export interface ExactObject {
  readonly [key: string]: ExactJson;
}

export function isExactObject(value: ExactJson | undefined): value is ExactObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactFloat);
}

const EMPTY: ExactObject = {};

/** For looking into what may not be an object: there is nothing in it then. */
export function objectOrEmpty(value: ExactJson | undefined): ExactObject {
  return isExactObject(value) ? value : EMPTY;
}

// The limits of `parseJson`.
const MAX_DEPTH = 512;
const MAX_INTEGER_DIGITS = 1_000;

/** Shorter literals of integers are exact as numbers. */
const LONG_INTEGER = 16;

export function parseExactJson(text: string): ExactJson {
  if (!needsCare(text)) return parseJson(text);
  const reader = { text, at: 0 };
  const value = readValue(reader, 0);
  skipSpace(reader);
  if (reader.at < text.length) fail(reader);
  return value;
}

/** True when the text holds a number that `JSON.parse` might not keep. Ids are text most of the time, so most texts hold none. */
function needsCare(text: string): boolean {
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) {
      digits++;
      if (digits === LONG_INTEGER) return true;
      continue;
    }
    if (digits > 0 && (code === 0x2e || code === 0x65 || code === 0x45) /* . e E */) return true;
    digits = 0;
    if (code === 0x22 /* " */) at = closingQuote(text, at);
  }
  return false;
}

function closingQuote(text: string, opening: number): number {
  for (let from = opening + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

interface Reader {
  readonly text: string;
  at: number;
}

/** The text is not JSON. `parseJson` finds the same and says where and why. */
function fail({ text, at }: Reader): never {
  parseJson(text);
  throw new SyntaxError(`not JSON, at offset ${at}`);
}

function readValue(reader: Reader, depth: number): ExactJson {
  skipSpace(reader);
  switch (reader.text.charCodeAt(reader.at)) {
    case 0x7b /* { */:
      return readObject(reader, depth + 1);
    case 0x5b /* [ */:
      return readArray(reader, depth + 1);
    case 0x22 /* " */:
      return readString(reader);
    case 0x74 /* t */:
      return readWord(reader, 'true', true);
    case 0x66 /* f */:
      return readWord(reader, 'false', false);
    case 0x6e /* n */:
      return readWord(reader, 'null', null);
    default:
      return readNumber(reader);
  }
}

function readObject(reader: Reader, depth: number): ExactObject {
  if (depth > MAX_DEPTH) fail(reader);
  const object: Record<string, ExactJson> = {};
  reader.at++;
  if (takes(reader, 0x7d /* } */)) return object;
  do {
    skipSpace(reader);
    if (reader.text.charCodeAt(reader.at) !== 0x22) fail(reader);
    const key = readString(reader);
    if (!takes(reader, 0x3a /* : */)) fail(reader);
    const value = readValue(reader, depth);
    if (key === '__proto__') {
      // Plain assignment would replace the prototype; this key is data like any other.
      Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
    } else {
      object[key] = value;
    }
  } while (takes(reader, 0x2c /* , */));
  if (!takes(reader, 0x7d /* } */)) fail(reader);
  return object;
}

function readArray(reader: Reader, depth: number): ExactJson[] {
  if (depth > MAX_DEPTH) fail(reader);
  const array: ExactJson[] = [];
  reader.at++;
  if (takes(reader, 0x5d /* ] */)) return array;
  do array.push(readValue(reader, depth));
  while (takes(reader, 0x2c /* , */));
  if (!takes(reader, 0x5d /* ] */)) fail(reader);
  return array;
}

const ESCAPE_OR_CONTROL = /[\\\u0000-\u001f]/;

function readString(reader: Reader): string {
  const start = reader.at;
  const end = closingQuote(reader.text, start);
  if (end === reader.text.length) fail(reader);
  reader.at = end + 1;
  const plain = reader.text.slice(start + 1, end);
  if (!ESCAPE_OR_CONTROL.test(plain)) return plain;
  try {
    return JSON.parse(reader.text.slice(start, end + 1)) as string;
  } catch {
    return fail(reader);
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;

function readNumber(reader: Reader): number | bigint | ExactFloat {
  NUMBER.lastIndex = reader.at;
  const match = NUMBER.exec(reader.text);
  if (match === null) fail(reader);
  const [literal, fraction, exponent] = match;
  reader.at += literal.length;
  const value = Number(literal);
  const isWhole = Number.isSafeInteger(value);
  if (fraction !== undefined || exponent !== undefined) return isWhole ? new ExactFloat(value) : value;
  if (isWhole) return value;
  if (literal.length > MAX_INTEGER_DIGITS) fail(reader);
  return BigInt(literal);
}

function readWord<T extends ExactJson>(reader: Reader, word: string, meaning: T): T {
  if (!reader.text.startsWith(word, reader.at)) fail(reader);
  reader.at += word.length;
  return meaning;
}

/** Steps over space and this character; false when another one is there. */
function takes(reader: Reader, code: number): boolean {
  skipSpace(reader);
  if (reader.text.charCodeAt(reader.at) !== code) return false;
  reader.at++;
  return true;
}

function skipSpace(reader: Reader): void {
  for (;;) {
    const code = reader.text.charCodeAt(reader.at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    reader.at++;
  }
}
