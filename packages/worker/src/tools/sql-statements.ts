// Where one SQL statement ends and the next begins, without understanding SQL: a semicolon counts unless it stands inside quotes, a dollar-
// quoted body, a comment or a function body of the form BEGIN ATOMIC … END. Pure.

/** The statements without their semicolons; what is only blanks and comments is none. */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  /** Open BEGIN ATOMIC and CASE blocks of a function body. */
  let depth = 0;
  let substance = false;
  let previousWord = '';
  const close = (end: number): void => {
    if (substance) statements.push(sql.slice(start, end).trim());
    start = end + 1;
    depth = 0;
    substance = false;
    previousWord = '';
  };
  for (const token of tokens(sql)) {
    if (token.type === 'blank') continue;
    if (token.type === 'semicolon') {
      if (depth === 0) close(token.at);
      else previousWord = '';
      continue;
    }
    substance = true;
    if (token.type === 'word') {
      depth += nesting(token.word, previousWord, depth);
      previousWord = token.word;
    }
  }
  close(sql.length);
  return statements;
}

const TRANSACTION_CONTROL = new Set(['begin', 'start', 'commit', 'end', 'rollback', 'abort', 'savepoint', 'release']);

/** Whether the statement opens, ends or marks a transaction. */
export function controlsTransaction(statement: string): boolean {
  const words = leadingWords(statement, 2);
  const [first = '', second = ''] = words;
  if (first === 'start' || first === 'prepare') return second === 'transaction';
  return TRANSACTION_CONTROL.has(first);
}

function leadingWords(statement: string, count: number): string[] {
  const words: string[] = [];
  for (const token of tokens(statement)) {
    if (token.type === 'blank') continue;
    if (token.type !== 'word') break;
    words.push(token.word);
    if (words.length === count) break;
  }
  return words;
}

function nesting(word: string, previousWord: string, depth: number): number {
  if (word === 'atomic' && previousWord === 'begin') return 1;
  if (depth === 0) return 0;
  if (word === 'case') return 1;
  return word === 'end' ? -1 : 0;
}

type Token =
  | { readonly type: 'blank' }
  | { readonly type: 'semicolon'; readonly at: number }
  | { readonly type: 'word'; readonly word: string }
  | { readonly type: 'other' };

const BLANK: Token = { type: 'blank' };
const OTHER: Token = { type: 'other' };
const SPACES = /\s+/y;
const LINE_COMMENT = /--[^\n]*/y;
const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy;
// A number takes its letters with it: the `e` of 1e5 is no word, and no prefix of a text.
const NUMBER = /\p{N}[\p{L}\p{N}_.]*/uy;
// A text or a name that is not closed reaches to the end; the database will say so.
const TEXT = /'(?:[^']|'')*(?:'|$)/y;
const ESCAPED_TEXT = /[eE]'(?:[^'\\]|''|\\[\s\S])*(?:'|\\?$)/y;
const NAME = /"(?:[^"]|"")*(?:"|$)/y;
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;

function* tokens(sql: string): Generator<Token> {
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(sql)?.[0];
  };
  while (at < sql.length) {
    const blank = match(SPACES) ?? match(LINE_COMMENT) ?? blockComment(sql, at);
    if (blank !== undefined) {
      at += blank.length;
      yield BLANK;
      continue;
    }
    if (sql[at] === ';') {
      yield { type: 'semicolon', at };
      at += 1;
      continue;
    }
    const quoted = match(TEXT) ?? match(ESCAPED_TEXT) ?? match(NAME) ?? dollarQuoted(sql, at, match(DOLLAR_QUOTE));
    if (quoted !== undefined) {
      at += quoted.length;
      yield OTHER;
      continue;
    }
    const word = match(WORD);
    at += (word ?? match(NUMBER) ?? ' ').length;
    yield word === undefined ? OTHER : { type: 'word', word: word.toLowerCase() };
  }
}

/** Block comments nest, as the SQL standard says. */
function blockComment(sql: string, at: number): string | undefined {
  if (!sql.startsWith('/*', at)) return undefined;
  let depth = 0;
  for (let end = at; end < sql.length; ) {
    if (sql.startsWith('/*', end)) {
      depth += 1;
      end += 2;
    } else if (sql.startsWith('*/', end)) {
      depth -= 1;
      end += 2;
      if (depth === 0) return sql.slice(at, end);
    } else {
      end += 1;
    }
  }
  return sql.slice(at);
}

function dollarQuoted(sql: string, at: number, tag: string | undefined): string | undefined {
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, at + tag.length);
  return end === -1 ? sql.slice(at) : sql.slice(at, end + tag.length);
}
