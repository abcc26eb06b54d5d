// Builds the node tree of a template out of its segments: text, outputs and the block statements if, for and set.
import type { Branch, Expr, Node, Target } from './ast.js';
import { TemplateError } from './error.js';
import { type Segment, type Token, tokenizeExpression, tokenizeTemplate } from './lexer.js';
import { LIMITS } from './limits.js';
import { parseExpression, parseExpressionList, parseOr } from './parse-expression.js';
import { suggestion } from './suggest.js';
import {
  atWord,
  type Cursor,
  complaint,
  cursorOn,
  expectEnd,
  expectName,
  expectOperator,
  skipOperator,
  skipWord,
  unexpected,
} from './tokens.js';

const STATEMENTS = ['if', 'for', 'set', 'raw'];
const CLOSERS: ReadonlySet<string> = new Set(['elif', 'else', 'endif', 'endfor', 'endset', 'endraw']);
const UNSUPPORTED: ReadonlySet<string> = new Set([
  'macro',
  'call',
  'filter',
  'include',
  'import',
  'from',
  'extends',
  'block',
  'do',
  'with',
  'break',
  'continue',
  'autoescape',
  'trans',
]);

interface Reader {
  readonly source: string;
  readonly segments: readonly Segment[];
  position: number;
  depth: number;
}

export function parseTemplate(source: string): Node[] {
  const reader: Reader = { source, segments: tokenizeTemplate(source), position: 0, depth: 0 };
  return readNodes(reader, undefined).nodes;
}

export function parseCondition(source: string): Expr {
  const cursor = cursorOn(source, tokenizeExpression(source));
  const expression = parseExpressionList(cursor);
  expectEnd(cursor);
  return expression;
}

interface Block {
  readonly nodes: Node[];
  /** The statement that ended the block, positioned behind its word. */
  readonly closer: { readonly word: string; readonly cursor: Cursor };
}

interface Opening {
  readonly word: string;
  readonly at: number;
  readonly closers: readonly string[];
}

function readNodes(reader: Reader, opening: Opening | undefined): Block {
  const nodes: Node[] = [];
  const { source, segments } = reader;
  while (reader.position < segments.length) {
    const segment = segments[reader.position++];
    if (segment === undefined) break;
    const { at } = segment;
    if (segment.kind === 'text') {
      nodes.push({ kind: 'text', text: segment.text, at });
      continue;
    }
    const cursor = cursorOn(source, segment.tokens, reader.depth);
    if (segment.kind === 'output') {
      const value = parseExpressionList(cursor);
      expectEnd(cursor);
      nodes.push({ kind: 'output', value, at });
      continue;
    }
    const word = expectName(cursor, 'a statement such as if, for or set');
    if (opening?.closers.includes(word.text)) return { nodes, closer: { word: word.text, cursor } };
    nodes.push(readStatement(reader, cursor, word, opening));
  }
  if (opening !== undefined) {
    throw new TemplateError(`'{% ${opening.word} %}' is never closed with '{% end${opening.word} %}'`, {
      source,
      offset: opening.at,
    });
  }
  return { nodes, closer: { word: '', cursor: cursorOn(source, []) } };
}

function readStatement(reader: Reader, cursor: Cursor, word: Token, opening: Opening | undefined): Node {
  switch (word.text) {
    case 'if':
      return readIf(reader, cursor, word.at);
    case 'for':
      return readFor(reader, cursor, word.at);
    case 'set':
      return readSet(reader, cursor, word.at);
    default:
      throw complaint(cursor, refusal(word.text, opening), word.at);
  }
}

function refusal(word: string, opening: Opening | undefined): string {
  if (CLOSERS.has(word)) {
    const open = opening ? `; '{% ${opening.word} %}' is still open` : '';
    return `'{% ${word} %}' does not belong here${open}`;
  }
  if (UNSUPPORTED.has(word)) return `'{% ${word} %}' is not supported in playbook templates`;
  return `unknown statement '${word}'${suggestion(word, [...STATEMENTS, ...CLOSERS])}`;
}

function readBlock(reader: Reader, opening: Opening): Block {
  reader.depth += 1;
  if (reader.depth > LIMITS.depth) {
    throw new TemplateError(`the template is nested deeper than ${LIMITS.depth} levels`, {
      source: reader.source,
      offset: opening.at,
    });
  }
  const block = readNodes(reader, opening);
  reader.depth -= 1;
  return block;
}

function readIf(reader: Reader, opened: Cursor, at: number): Node {
  const branches: Branch[] = [];
  let otherwise: Node[] = [];
  let cursor = opened;
  let word = 'if';
  while (word === 'if' || word === 'elif') {
    const test = parseExpression(cursor);
    expectEnd(cursor);
    const block = readBlock(reader, { word: 'if', at, closers: ['elif', 'else', 'endif'] });
    branches.push({ test, body: block.nodes });
    ({ word, cursor } = block.closer);
  }
  if (word === 'else') {
    expectEnd(cursor);
    const block = readBlock(reader, { word: 'if', at, closers: ['endif'] });
    otherwise = block.nodes;
    cursor = block.closer.cursor;
  }
  expectEnd(cursor);
  return { kind: 'if', branches, otherwise, at };
}

function readFor(reader: Reader, cursor: Cursor, at: number): Node {
  const target = parseTarget(cursor);
  if (target.kind === 'field') throw complaint(cursor, 'a loop variable is a plain name', target.at);
  if (!skipWord(cursor, 'in')) throw unexpected(cursor, "'in'");
  const over = parseOverList(cursor);
  const where = skipWord(cursor, 'if') ? parseExpression(cursor) : undefined;
  if (atWord(cursor, 'recursive')) throw complaint(cursor, 'recursive loops are not supported', at);
  expectEnd(cursor);

  const body = readBlock(reader, { word: 'for', at, closers: ['else', 'endfor'] });
  let { closer } = body;
  let otherwise: Node[] = [];
  if (closer.word === 'else') {
    expectEnd(closer.cursor);
    const block = readBlock(reader, { word: 'for', at, closers: ['endfor'] });
    otherwise = block.nodes;
    closer = block.closer;
  }
  expectEnd(closer.cursor);
  return { kind: 'for', target, over, body: body.nodes, otherwise, at, ...(where && { where }) };
}

/** What `for` runs over: the inline `if` is left alone, because there it filters the loop. */
function parseOverList(cursor: Cursor): Expr {
  const first = parseOr(cursor);
  const items = [first];
  while (skipOperator(cursor, ',')) items.push(parseOr(cursor));
  return items.length === 1 ? first : { kind: 'list', items, at: first.at };
}

function readSet(reader: Reader, cursor: Cursor, at: number): Node {
  const target = parseTarget(cursor);
  if (skipOperator(cursor, '=')) {
    const value = parseExpressionList(cursor);
    expectEnd(cursor);
    return { kind: 'set', target, value, at };
  }
  expectEnd(cursor);
  if (target.kind === 'names' && target.unpack) throw unexpected(cursor, "'='");
  const block = readBlock(reader, { word: 'set', at, closers: ['endset'] });
  expectEnd(block.closer.cursor);
  return { kind: 'capture', target, body: block.nodes, at };
}

function parseTarget(cursor: Cursor): Target {
  const parenthesised = skipOperator(cursor, '(');
  const first = expectName(cursor, 'a variable name');
  const { at } = first;
  if (!parenthesised && skipOperator(cursor, '.')) {
    return { kind: 'field', name: first.text, field: expectName(cursor, 'a field name').text, at };
  }
  const names = [first.text];
  let unpack = false;
  while (skipOperator(cursor, ',')) {
    unpack = true;
    if (atWord(cursor, 'in') && !parenthesised) break;
    names.push(expectName(cursor, 'a variable name').text);
  }
  if (parenthesised) expectOperator(cursor, ')');
  return { kind: 'names', names, unpack, at };
}
