// Our own strict JSON parser (RFC 8259): integers outside ±(2^53-1) become `bigint`, and every error says where and why.
// It is a few times slower than `JSON.parse`, which `parseJson` prefers whenever the text allows it.
import { JsonSyntaxError } from './syntax-error.js';
import type { Json, JsonObject } from './types.js';

/** Objects and arrays inside one another. */
export const MAX_DEPTH = 512;

/** Far beyond any key or amount; parsing an integer is quadratic in its length, so there has to be an end. */
const MAX_INTEGER_DIGITS = 1_000;

const PLAIN_CHARACTERS = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const FOUR_HEX = /[0-9a-fA-F]{4}/y;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

export function lossless(text: string): Json {
  let at = 0;

  const value = parseValue(0, 'before any value');
  skipSpace();
  if (at < text.length) fail(`nothing may follow the JSON value, but there is ${found()}`);
  return value;

  /** `where` completes "the JSON ends …". */
  function parseValue(depth: number, where: string): Json {
    skipSpace();
    switch (text[at]) {
      case '{':
        return parseObject(depth + 1);
      case '[':
        return parseArray(depth + 1);
      case '"':
        return parseString();
      case 't':
        return parseWord('true', true);
      case 'f':
        return parseWord('false', false);
      case 'n':
        return parseWord('null', null);
      default:
        return parseNumber(where);
    }
  }

  function parseObject(depth: number): JsonObject {
    const where = 'in the middle of an object';
    enter(depth);
    const object: JsonObject = {};
    skipSpace();
    if (text[at] === '}') {
      at += 1;
      return object;
    }
    for (;;) {
      skipSpace();
      if (text[at] !== '"') failAt(where, 'a key in double quotes');
      const key = parseString();
      skipSpace();
      if (text[at] !== ':') failAt(where, "':' after the key");
      at += 1;
      setMember(object, key, parseValue(depth, where));
      skipSpace();
      if (text[at] === '}') break;
      if (text[at] !== ',') failAt(where, "',' or '}'");
      at += 1;
    }
    at += 1;
    return object;
  }

  function parseArray(depth: number): Json[] {
    const where = 'in the middle of an array';
    enter(depth);
    const array: Json[] = [];
    skipSpace();
    if (text[at] === ']') {
      at += 1;
      return array;
    }
    for (;;) {
      array.push(parseValue(depth, where));
      skipSpace();
      if (text[at] === ']') break;
      if (text[at] !== ',') failAt(where, "',' or ']'");
      at += 1;
    }
    at += 1;
    return array;
  }

  function parseString(): string {
    at += 1;
    let result = '';
    for (;;) {
      PLAIN_CHARACTERS.lastIndex = at;
      PLAIN_CHARACTERS.test(text);
      const end = PLAIN_CHARACTERS.lastIndex;
      result += text.slice(at, end);
      at = end;
      if (text[at] === '"') {
        at += 1;
        return result;
      }
      if (at >= text.length) fail('the JSON ends in the middle of a string');
      if (text[at] !== '\\') fail(`a string may not hold ${found()} unescaped`);
      result += parseEscape();
    }
  }

  function parseEscape(): string {
    const letter = text[at + 1];
    if (letter === undefined) {
      at = text.length;
      fail('the JSON ends in the middle of a string');
    }
    if (letter === 'u') {
      FOUR_HEX.lastIndex = at + 2;
      if (!FOUR_HEX.test(text)) fail('\\u must be followed by four hexadecimal digits');
      at += 6;
      return String.fromCharCode(Number.parseInt(text.slice(at - 4, at), 16));
    }
    const character = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (character === undefined) fail('a backslash in a string must start one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u');
    at += 2;
    return character;
  }

  function parseNumber(where: string): number | bigint {
    NUMBER.lastIndex = at;
    const match = NUMBER.exec(text);
    if (match === null) failAt(where, 'a value');
    const [literal, fraction, exponent] = match;
    const number = Number(literal);
    if (fraction === undefined && exponent === undefined && !Number.isSafeInteger(number)) {
      if (literal.length > MAX_INTEGER_DIGITS) fail(`an integer may not have more than ${MAX_INTEGER_DIGITS} digits`);
      at = NUMBER.lastIndex;
      return BigInt(literal);
    }
    at = NUMBER.lastIndex;
    return number;
  }

  function parseWord<T extends Json>(word: string, meaning: T): T {
    if (!text.startsWith(word, at)) fail(`expected true, false, null or another value, but there is ${found()}`);
    at += word.length;
    return meaning;
  }

  function enter(depth: number): void {
    if (depth > MAX_DEPTH) fail(`the JSON is nested deeper than ${MAX_DEPTH} levels`);
    at += 1;
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      at += 1;
    }
  }

  function found(): string {
    const point = text.codePointAt(at);
    if (point === undefined) return 'the end';
    if (point < 0x20 || (point >= 0x7f && point <= 0xa0) || point === 0xfeff || (point >= 0xd800 && point <= 0xdfff)) {
      return `the character U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
    }
    return `'${String.fromCodePoint(point)}'`;
  }

  function failAt(where: string, expected: string): never {
    if (at >= text.length) fail(`the JSON ends ${where}`);
    fail(`expected ${expected}, but there is ${found()}`);
  }

  function fail(problem: string): never {
    throw new JsonSyntaxError(problem, text, at);
  }
}

function setMember(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') {
    // Plain assignment would replace the prototype; this key is data like any other.
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}
