// Splits a template into text, `{{ … }}` and `{% … %}` segments and tokenises what is inside the markers.
// Every token keeps its offset in the source; whitespace control is settled here, so the parser never sees it.
import { TemplateError } from './error.js';
import { integerLiteral } from './numbers.js';

export interface Token {
  readonly kind: 'name' | 'string' | 'number' | 'operator' | 'end';
  /** The spelling; for a string its decoded content. */
  readonly text: string;
  readonly number?: number | bigint;
  readonly at: number;
}

export type Segment =
  | { readonly kind: 'text'; text: string; readonly raw: boolean; readonly at: number }
  | { readonly kind: 'output' | 'statement'; readonly tokens: readonly Token[]; readonly at: number };

const NAME = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const NUMBER = /0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?/y;
const INTEGER = /\d+/y;
const OPERATOR = /\*\*|\/\/|[=!<>]=|[-+*/%~<>=()[\]{}.,:|]/y;
const SPACE = /\s*/y;
const RAW = /\{%[-+]?\s*raw\s*(-?)%\}/y;
const END_RAW = /\{%([-+]?)\s*endraw\s*(-?)%\}/g;

const FOREIGN_OPERATORS: Readonly<Record<string, string>> = {
  '&&': "use 'and' instead of '&&'",
  '||': "use 'or' instead of '||'",
  '===': "use '==' instead of '==='",
  '!==': "use '!=' instead of '!=='",
  '!': "use 'not' instead of '!'",
  '?': "use 'a if condition else b' instead of '? :'",
};

const CLOSER: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

export function tokenizeTemplate(source: string): Segment[] {
  // Jinja drops one newline at the very end of a template.
  const end = source.endsWith('\r\n') ? source.length - 2 : source.endsWith('\n') ? source.length - 1 : source.length;
  const segments: Segment[] = [];
  let position = 0;

  const pushText = (from: number, to: number, raw: boolean) => {
    if (to > from) segments.push({ kind: 'text', text: source.slice(from, to), raw, at: from });
  };
  const trimBefore = () => {
    const last = segments.at(-1);
    if (last?.kind === 'text' && !last.raw) last.text = last.text.trimEnd();
  };
  const trimAfter = () => {
    position = Math.min(matchAt(SPACE, source, position).end, Math.max(end, position));
  };

  while (position < end) {
    const open = nextMarker(source, position);
    if (open === -1 || open >= end) {
      pushText(position, end, false);
      break;
    }
    pushText(position, open, false);
    const control = source[open + 2];
    if (control === '-') trimBefore();

    const marker = source[open + 1];
    if (marker === '#') {
      const close = source.indexOf('#}', open + 2);
      if (close === -1) throw new TemplateError("comment '{#' is never closed with '#}'", { source, offset: open });
      position = close + 2;
      if (source[close - 1] === '-') trimAfter();
      continue;
    }

    const raw = marker === '%' ? matchAt(RAW, source, open) : undefined;
    if (raw?.match) {
      position = raw.end;
      if (raw.match[1] === '-') trimAfter();
      END_RAW.lastIndex = position;
      const close = END_RAW.exec(source);
      if (close === null) throw new TemplateError("'{% raw %}' is never closed", { source, offset: open });
      const content = source.slice(position, close.index);
      const text = close[1] === '-' ? content.trimEnd() : content;
      if (text !== '') segments.push({ kind: 'text', text, raw: true, at: position });
      position = close.index + close[0].length;
      if (close[2] === '-') trimAfter();
      continue;
    }

    const from = control === '-' || control === '+' ? open + 3 : open + 2;
    const inside = tokenizeInside(source, from, marker === '{' ? '}}' : '%}', open);
    segments.push({ kind: marker === '{' ? 'output' : 'statement', tokens: inside.tokens, at: open });
    position = inside.end;
    if (inside.trim) trimAfter();
  }
  return segments.filter((segment) => segment.kind !== 'text' || segment.text !== '');
}

/** Tokens of a bare expression, as conditions are often written. */
export function tokenizeExpression(source: string): readonly Token[] {
  return tokenizeInside(source, 0, undefined, 0).tokens;
}

interface Inside {
  readonly tokens: readonly Token[];
  readonly end: number;
  readonly trim: boolean;
}

function tokenizeInside(source: string, from: number, closing: string | undefined, openedAt: number): Inside {
  const tokens: Token[] = [];
  const brackets: Token[] = [];
  let position = from;
  for (;;) {
    position = matchAt(SPACE, source, position).end;
    if (position >= source.length) {
      const unclosed = brackets.at(-1);
      if (unclosed) throw new TemplateError(`'${unclosed.text}' is never closed`, { source, offset: unclosed.at });
      if (closing !== undefined) {
        const opening = closing === '}}' ? '{{' : '{%';
        throw new TemplateError(`'${opening}' is never closed with '${closing}'`, { source, offset: openedAt });
      }
      tokens.push({ kind: 'end', text: 'the end of the expression', at: source.length });
      return { tokens, end: position, trim: false };
    }
    // Inside brackets `}}` closes maps, not the template expression.
    if (closing !== undefined && brackets.length === 0) {
      const signed = (source[position] === '-' || source[position] === '+') && source.startsWith(closing, position + 1);
      if (signed || source.startsWith(closing, position)) {
        tokens.push({ kind: 'end', text: `'${closing}'`, at: position });
        return { tokens, end: position + closing.length + (signed ? 1 : 0), trim: signed && source[position] === '-' };
      }
    }
    const { token, end } = nextToken(source, position, tokens.at(-1)?.text === '.');
    if (token.kind === 'operator') matchBracket(token, brackets, source);
    tokens.push(token);
    position = end;
  }
}

function matchBracket(token: Token, brackets: Token[], source: string): void {
  if (token.text in CLOSER) {
    brackets.push(token);
  } else if (token.text === ')' || token.text === ']' || token.text === '}') {
    const opener = brackets.pop();
    if (opener && CLOSER[opener.text] === token.text) return;
    const expected = opener ? `; expected '${CLOSER[opener.text]}'` : '';
    throw new TemplateError(`unexpected '${token.text}'${expected}`, { source, offset: token.at });
  }
}

function nextToken(source: string, at: number, afterDot: boolean): { token: Token; end: number } {
  const character = source[at] ?? '';
  if (character === '"' || character === "'") return stringToken(source, at, character);
  const name = matchAt(NAME, source, at);
  if (name.match) return { token: { kind: 'name', text: name.match[0], at }, end: name.end };
  // `rows.0.1` is two indexes, not the number 0.1.
  const digits = matchAt(afterDot ? INTEGER : NUMBER, source, at);
  if (digits.match) {
    const text = digits.match[0];
    return { token: { kind: 'number', text, number: numberLiteral(text, source, at), at }, end: digits.end };
  }
  for (const [spelling, hint] of Object.entries(FOREIGN_OPERATORS)) {
    const isInequality = spelling === '!' && source[at + 1] === '=';
    if (source.startsWith(spelling, at) && !isInequality) throw new TemplateError(hint, { source, offset: at });
  }
  const operator = matchAt(OPERATOR, source, at);
  if (operator.match) return { token: { kind: 'operator', text: operator.match[0], at }, end: operator.end };
  throw new TemplateError(`unexpected character '${String.fromCodePoint(source.codePointAt(at) ?? 0)}'`, {
    source,
    offset: at,
  });
}

function numberLiteral(text: string, source: string, at: number): number | bigint {
  const digits = text.replaceAll('_', '');
  if (/^0[xXbBoO]/.test(digits)) {
    if (digits.length === 2) throw new TemplateError(`'${text}' is not a number`, { source, offset: at });
    return integerLiteral(digits.toLowerCase());
  }
  if (!/[.eE]/.test(digits)) return integerLiteral(digits);
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new TemplateError(`the number '${text}' is too large`, { source, offset: at });
  return value;
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
};
const CODE_ESCAPE = /x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})/y;

function stringToken(source: string, at: number, quote: string): { token: Token; end: number } {
  let text = '';
  let position = at + 1;
  for (;;) {
    const character = source[position];
    if (character === undefined) throw new TemplateError('the text literal is never closed', { source, offset: at });
    if (character === quote) return { token: { kind: 'string', text, at }, end: position + 1 };
    if (character !== '\\') {
      text += character;
      position += 1;
      continue;
    }
    const code = matchAt(CODE_ESCAPE, source, position + 1);
    const simple = SIMPLE_ESCAPES[source[position + 1] ?? ''];
    if (code.match) {
      const [, x, u, long, octal] = code.match;
      const point = octal === undefined ? Number.parseInt(x ?? u ?? long ?? '', 16) : Number.parseInt(octal, 8);
      if (point > 0x10ffff) throw new TemplateError('no such Unicode character', { source, offset: position });
      text += String.fromCodePoint(point);
      position = code.end;
    } else if (simple !== undefined) {
      text += simple;
      position += 2;
    } else {
      // Python keeps the backslash of an escape it does not know, so '\d' stays a regular expression.
      text += '\\';
      position += 1;
    }
  }
}

function nextMarker(source: string, from: number): number {
  for (let at = source.indexOf('{', from); at !== -1; at = source.indexOf('{', at + 1)) {
    const next = source[at + 1];
    if (next === '{' || next === '%' || next === '#') return at;
  }
  return -1;
}

function matchAt(pattern: RegExp, source: string, at: number): { match: RegExpExecArray | null; end: number } {
  pattern.lastIndex = at;
  const match = pattern.exec(source);
  return { match, end: match ? pattern.lastIndex : at };
}
