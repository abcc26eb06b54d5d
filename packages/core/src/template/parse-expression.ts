// Jinja's expression grammar by recursive descent, one function per level of precedence, loosest first.
// Two rules surprise people who know Python: `**` binds to the left, and a filter binds tighter than any operator except a sign.
import type { Args, ArithmeticOperator, Comparison, ComparisonOperator, Expr, NamedArg } from './ast.js';
import {
  atOperator,
  atWord,
  type Cursor,
  complaint,
  expectName,
  expectOperator,
  nested,
  peek,
  skipOperator,
  skipWord,
  take,
  unexpected,
} from './tokens.js';

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
  ['null', null],
]);
const NO_ARGS: Args = { positional: [], named: [] };
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);
/** Words that end an expression, so they never start the argument of a test (`x is defined and …`). */
const CONNECTIVES: ReadonlySet<string> = new Set(['and', 'or', 'if', 'else', 'is', 'in', 'not']);

/** An expression, or several separated by commas, which make a list. */
export function parseExpressionList(cursor: Cursor): Expr {
  const first = parseExpression(cursor);
  if (!atOperator(cursor, ',')) return first;
  const items = [first];
  while (skipOperator(cursor, ',')) {
    if (peek(cursor).kind === 'end' || atOperator(cursor, ')')) break;
    items.push(parseExpression(cursor));
  }
  return { kind: 'list', items, at: first.at };
}

export function parseExpression(cursor: Cursor): Expr {
  return nested(cursor, () => parseChoice(cursor));
}

function parseChoice(cursor: Cursor): Expr {
  let value = parseOr(cursor);
  while (atWord(cursor, 'if')) {
    const { at } = take(cursor);
    const test = parseOr(cursor);
    const otherwise = skipWord(cursor, 'else') ? parseExpression(cursor) : undefined;
    value = { kind: 'choose', test, value, at, ...(otherwise && { otherwise }) };
  }
  return value;
}

/** Without the inline `if`, which belongs to `for … in … if …` there. */
export function parseOr(cursor: Cursor): Expr {
  return parseJunction(cursor, 'or', () => parseJunction(cursor, 'and', () => parseNot(cursor)));
}

function parseJunction(cursor: Cursor, word: 'and' | 'or', parsePart: () => Expr): Expr {
  const first = parsePart();
  if (!atWord(cursor, word)) return first;
  const parts = [first];
  while (skipWord(cursor, word)) parts.push(parsePart());
  return { kind: word, parts, at: first.at };
}

function parseNot(cursor: Cursor): Expr {
  if (!atWord(cursor, 'not')) return parseComparison(cursor);
  const { at } = take(cursor);
  return { kind: 'not', of: nested(cursor, () => parseNot(cursor)), at };
}

function parseComparison(cursor: Cursor): Expr {
  const first = parseSum(cursor);
  const rest: Comparison[] = [];
  for (;;) {
    const { at } = peek(cursor);
    const op = takeComparison(cursor);
    if (op === undefined) break;
    rest.push({ op, right: parseSum(cursor), at });
  }
  return rest.length === 0 ? first : { kind: 'compare', first, rest, at: first.at };
}

function takeComparison(cursor: Cursor): ComparisonOperator | undefined {
  const token = peek(cursor);
  if (token.kind === 'operator' && COMPARISONS.has(token.text)) return take(cursor).text as ComparisonOperator;
  if (skipWord(cursor, 'in')) return 'in';
  if (!atWord(cursor, 'not') || !atWord(cursor, 'in', 1)) return undefined;
  cursor.position += 2;
  return 'not in';
}

const parseSum = (cursor: Cursor): Expr => parseArithmetic(cursor, ['+', '-'], parseConcat);
const parseProduct = (cursor: Cursor): Expr => parseArithmetic(cursor, ['*', '/', '//', '%'], parsePower);
const parsePower = (cursor: Cursor): Expr => parseArithmetic(cursor, ['**'], (inner) => parseSigned(inner, true));

function parseArithmetic(
  cursor: Cursor,
  operators: readonly ArithmeticOperator[],
  parseOperand: (cursor: Cursor) => Expr,
): Expr {
  let left = parseOperand(cursor);
  for (;;) {
    const op = operators.find((operator) => atOperator(cursor, operator));
    if (op === undefined) return left;
    const { at } = take(cursor);
    left = { kind: 'arithmetic', op, left, right: parseOperand(cursor), at };
  }
}

function parseConcat(cursor: Cursor): Expr {
  const first = parseProduct(cursor);
  if (!atOperator(cursor, '~')) return first;
  const parts = [first];
  while (skipOperator(cursor, '~')) parts.push(parseProduct(cursor));
  return { kind: 'concat', parts, at: first.at };
}

function parseSigned(cursor: Cursor, withFilters: boolean): Expr {
  const sign = peek(cursor);
  let value: Expr;
  if (atOperator(cursor, '-') || atOperator(cursor, '+')) {
    cursor.position += 1;
    const of = nested(cursor, () => parseSigned(cursor, false));
    value = { kind: 'sign', negative: sign.text === '-', of, at: sign.at };
  } else {
    value = parsePostfix(cursor, parsePrimary(cursor));
  }
  return withFilters ? parseFilters(cursor, value) : value;
}

function parsePrimary(cursor: Cursor): Expr {
  const token = peek(cursor);
  const { at } = token;
  switch (token.kind) {
    case 'name': {
      if (CONNECTIVES.has(token.text)) throw unexpected(cursor, 'a value');
      cursor.position += 1;
      const constant = CONSTANTS.get(token.text);
      return constant === undefined
        ? { kind: 'name', name: token.text, at }
        : { kind: 'constant', value: constant, at };
    }
    case 'number':
      cursor.position += 1;
      return { kind: 'constant', value: token.number ?? 0, at };
    case 'string': {
      let value = '';
      while (peek(cursor).kind === 'string') value += take(cursor).text;
      return { kind: 'constant', value, at };
    }
    case 'operator':
      if (token.text === '(') return parseParenthesis(cursor);
      if (token.text === '[') return parseList(cursor);
      if (token.text === '{') return parseMap(cursor);
      throw unexpected(cursor, 'a value');
    case 'end':
      throw unexpected(cursor, 'a value');
  }
}

function parseParenthesis(cursor: Cursor): Expr {
  const { at } = take(cursor);
  if (skipOperator(cursor, ')')) return { kind: 'list', items: [], at };
  const inner = parseExpressionList(cursor);
  expectOperator(cursor, ')');
  return inner;
}

function parseList(cursor: Cursor): Expr {
  const { at } = take(cursor);
  const items: Expr[] = [];
  while (!skipOperator(cursor, ']')) {
    if (items.length > 0) expectOperator(cursor, ',');
    if (skipOperator(cursor, ']')) break;
    items.push(parseExpression(cursor));
  }
  return { kind: 'list', items, at };
}

function parseMap(cursor: Cursor): Expr {
  const { at } = take(cursor);
  const entries: [Expr, Expr][] = [];
  while (!skipOperator(cursor, '}')) {
    if (entries.length > 0) expectOperator(cursor, ',');
    if (skipOperator(cursor, '}')) break;
    const key = parseExpression(cursor);
    expectOperator(cursor, ':');
    entries.push([key, parseExpression(cursor)]);
  }
  return { kind: 'map', entries, at };
}

function parsePostfix(cursor: Cursor, start: Expr): Expr {
  let value = start;
  for (;;) {
    if (atOperator(cursor, '.')) value = parseDot(cursor, value);
    else if (atOperator(cursor, '[')) value = parseSubscript(cursor, value);
    else if (atOperator(cursor, '(')) value = parseCall(cursor, value);
    else return value;
  }
}

function parseDot(cursor: Cursor, of: Expr): Expr {
  cursor.position += 1;
  const token = take(cursor);
  const { at } = token;
  if (token.kind === 'name') return { kind: 'member', of, key: token.text, at };
  if (token.kind === 'number') {
    return { kind: 'index', of, key: { kind: 'constant', value: token.number ?? 0, at }, at };
  }
  cursor.position -= 1;
  throw unexpected(cursor, "a name after '.'");
}

function parseSubscript(cursor: Cursor, of: Expr): Expr {
  const { at } = take(cursor);
  const bounds: (Expr | undefined)[] = [];
  let colons = 0;
  let current: Expr | undefined;
  while (!atOperator(cursor, ']')) {
    if (atOperator(cursor, ':') && colons < 2) {
      cursor.position += 1;
      bounds.push(current);
      current = undefined;
      colons += 1;
    } else if (current === undefined) {
      current = parseExpression(cursor);
    } else {
      throw unexpected(cursor, "']'");
    }
  }
  if (colons === 0 && current === undefined) throw unexpected(cursor, 'an index');
  cursor.position += 1;
  bounds.push(current);
  const [start, stop, step] = bounds;
  if (colons === 0 && start) return { kind: 'index', of, key: start, at };
  return { kind: 'slice', of, at, ...(start && { start }), ...(stop && { stop }), ...(step && { step }) };
}

function parseCall(cursor: Cursor, callee: Expr): Expr {
  const args = parseArgs(cursor);
  if (callee.kind === 'name') return { kind: 'call', name: callee.name, args, at: callee.at };
  if (callee.kind === 'member') return { kind: 'method', of: callee.of, name: callee.key, args, at: callee.at };
  throw complaint(cursor, 'only functions and methods can be called', callee.at);
}

function parseArgs(cursor: Cursor): Args {
  expectOperator(cursor, '(');
  const positional: Expr[] = [];
  const named: NamedArg[] = [];
  while (!skipOperator(cursor, ')')) {
    if (positional.length + named.length > 0) expectOperator(cursor, ',');
    if (skipOperator(cursor, ')')) break;
    if (atOperator(cursor, '*') || atOperator(cursor, '**')) {
      throw complaint(cursor, "unpacking arguments with '*' is not supported", peek(cursor).at);
    }
    const { kind, text: name, at } = peek(cursor);
    const next = peek(cursor, 1);
    if (kind === 'name' && next.kind === 'operator' && next.text === '=') {
      if (named.some((other) => other.name === name)) throw complaint(cursor, `argument '${name}' is given twice`, at);
      cursor.position += 2;
      named.push({ name, value: parseExpression(cursor), at });
    } else if (named.length > 0) {
      throw complaint(cursor, 'a positional argument cannot follow a named one', at);
    } else {
      positional.push(parseExpression(cursor));
    }
  }
  return { positional, named };
}

function parseFilters(cursor: Cursor, start: Expr): Expr {
  let value = start;
  for (;;) {
    if (skipOperator(cursor, '|')) {
      const { text: name, at } = expectName(cursor, 'the name of a filter');
      value = { kind: 'filter', of: value, name, args: atOperator(cursor, '(') ? parseArgs(cursor) : NO_ARGS, at };
    } else if (skipWord(cursor, 'is')) {
      const negated = skipWord(cursor, 'not');
      const { text: name, at } = expectName(cursor, 'the name of a test');
      value = { kind: 'test', of: value, name, args: parseTestArgs(cursor), negated, at };
    } else {
      return value;
    }
  }
}

/** A test takes its argument in parentheses or, when it is a single simple value, right behind its name. */
function parseTestArgs(cursor: Cursor): Args {
  if (atOperator(cursor, '(')) return parseArgs(cursor);
  const next = peek(cursor);
  const startsValue =
    next.kind === 'string' ||
    next.kind === 'number' ||
    (next.kind === 'name' && !CONNECTIVES.has(next.text)) ||
    atOperator(cursor, '[') ||
    atOperator(cursor, '{');
  if (!startsValue) return NO_ARGS;
  return { positional: [parsePostfix(cursor, parsePrimary(cursor))], named: [] };
}
