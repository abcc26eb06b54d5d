// A cursor over the tokens of one `{{ … }}` or `{% … %}`, with the complaints a reader of the template understands.
import { TemplateError } from './error.js';
import type { Token } from './lexer.js';
import { LIMITS } from './limits.js';

export interface Cursor {
  readonly source: string;
  readonly tokens: readonly Token[];
  position: number;
  depth: number;
}

export function cursorOn(source: string, tokens: readonly Token[], depth = 0): Cursor {
  return { source, tokens, position: 0, depth };
}

export function peek(cursor: Cursor, ahead = 0): Token {
  const token = cursor.tokens[Math.min(cursor.position + ahead, cursor.tokens.length - 1)];
  if (token === undefined) throw new TemplateError('the expression is empty', { source: cursor.source, offset: 0 });
  return token;
}

export function take(cursor: Cursor): Token {
  const token = peek(cursor);
  cursor.position += 1;
  return token;
}

export function atOperator(cursor: Cursor, text: string): boolean {
  const token = peek(cursor);
  return token.kind === 'operator' && token.text === text;
}

export function atWord(cursor: Cursor, word: string, ahead = 0): boolean {
  const token = peek(cursor, ahead);
  return token.kind === 'name' && token.text === word;
}

export function skipOperator(cursor: Cursor, text: string): boolean {
  if (!atOperator(cursor, text)) return false;
  cursor.position += 1;
  return true;
}

export function skipWord(cursor: Cursor, word: string): boolean {
  if (!atWord(cursor, word)) return false;
  cursor.position += 1;
  return true;
}

export function expectOperator(cursor: Cursor, text: string): Token {
  if (!atOperator(cursor, text)) throw unexpected(cursor, `'${text}'`);
  return take(cursor);
}

export function expectName(cursor: Cursor, what: string): Token {
  if (peek(cursor).kind !== 'name') throw unexpected(cursor, what);
  return take(cursor);
}

export function expectEnd(cursor: Cursor): void {
  if (peek(cursor).kind !== 'end') throw unexpected(cursor);
}

export function unexpected(cursor: Cursor, expected?: string): TemplateError {
  const token = peek(cursor);
  const found = token.kind === 'end' ? token.text : `'${token.text}'`;
  return complaint(cursor, `unexpected ${found}${expected === undefined ? '' : `; expected ${expected}`}`, token.at);
}

export function complaint(cursor: Cursor, message: string, offset: number): TemplateError {
  return new TemplateError(message, { source: cursor.source, offset });
}

/** Parses one level deeper; nesting is bounded because evaluation recurses as deeply as the text nests. */
export function nested<T>(cursor: Cursor, parse: () => T): T {
  cursor.depth += 1;
  if (cursor.depth > LIMITS.depth) {
    throw complaint(cursor, `the template is nested deeper than ${LIMITS.depth} levels`, peek(cursor).at);
  }
  const result = parse();
  cursor.depth -= 1;
  return result;
}
