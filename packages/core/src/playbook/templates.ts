// Hands every template and condition to the injected compiler and points its complaint at the exact place in the YAML.
// The compiler is injected because core/template must not be needed to read a playbook (and a checker that throws must not
// make the parser throw).
import type { Condition, Position } from './model.js';
import { describe, isNull, type Node, type ScalarNode } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { lineText, positionAt, type Source } from './source.js';

export type TemplateKind = 'value' | 'condition';

export interface TemplateProblem {
  readonly message: string;
  /** 1-based, within the template text. */
  readonly line?: number;
  readonly column?: number;
}

export interface TemplateUse {
  /** The variables that the template reads. */
  readonly names: Iterable<string>;
}

export type CheckTemplate = (source: string, kind: TemplateKind) => TemplateProblem | TemplateUse | undefined;

/** Foreign languages use braces too (python f-strings, shell `${#a}`): a broken template there is only suspicious. */
const FOREIGN_TEXT: ReadonlySet<string> = new Set(['code', 'command', 'commands', 'cmds', 'query', 'script']);

/** Checks every string below `node`. `complaint` replaces the usual text before the reason. */
export function checkTemplates(scope: Scope, node: Node, foreign = false, complaint?: string): void {
  if (node.type === 'list') {
    for (const item of node.items) checkTemplates(scope, item, foreign, complaint);
  } else if (node.type === 'map') {
    for (const entry of node.entries.values()) checkField(scope, entry.key, entry.value, foreign);
  } else if (typeof node.value === 'string' && node.value.includes('{')) {
    const problem = compile(scope, node, node.value, 'value');
    if (problem === undefined) return;
    reportTemplate(scope, node, problem, foreign, complaint ?? `${fieldOf(node)} has an invalid template`);
  }
}

export function checkField(scope: Scope, key: string, value: Node, foreign = false): void {
  checkTemplates(scope, value, foreign || FOREIGN_TEXT.has(key));
}

function reportTemplate(
  scope: Scope,
  node: ScalarNode,
  problem: TemplateProblem,
  foreign: boolean,
  complaint: string,
): void {
  const place = { path: node.path, at: locate(scope.source, node, problem) };
  const message = `${scope.subject}${complaint}: ${problem.message}`;
  if (foreign) {
    const hint = 'if these braces belong to the code, wrap them in {% raw %} … {% endraw %}';
    scope.report.warning('template.syntax', message, place, hint);
  } else {
    scope.report.error(
      'template.syntax',
      message,
      place,
      'docs/templates.md has the language: Jinja, without its statements for files',
    );
  }
}

/** A guard: a YAML boolean or an expression, with or without braces. `complaint` is the text before the reason. */
export function readCondition(scope: Scope, node: Node | undefined, complaint: string): Condition | undefined {
  if (node === undefined || isNull(node)) return undefined;
  if (node.type === 'scalar' && typeof node.value === 'boolean') return node.value;
  if (node.type !== 'scalar' || typeof node.value !== 'string') {
    const message = `${scope.subject}${complaint}: expected an expression, found ${describe(node)}`;
    scope.report.error('template.condition', message, node, 'write `"{{ … }}"` or a boolean');
    return undefined;
  }
  if (node.value.trim() === '') {
    const message = `${scope.subject}${complaint}: the expression is empty`;
    scope.report.error('template.condition', message, node, 'remove the key, or write a condition');
    return undefined;
  }
  const problem = compile(scope, node, node.value, 'condition');
  if (problem !== undefined) reportTemplate(scope, node, problem, false, complaint);
  return node.value;
}

function compile(scope: Scope, node: ScalarNode, text: string, kind: TemplateKind): TemplateProblem | undefined {
  if (scope.checkTemplate === undefined) return undefined;
  try {
    const found = scope.checkTemplate(text, kind);
    if (found === undefined || 'message' in found) return found;
    scope.mentions.push({ node, text, names: [...found.names], subject: scope.subject });
    return undefined;
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}

/** Where a line:column of the string value is in the document; the start of the scalar when that cannot be known. */
export function locate(source: Source, node: ScalarNode, problem: Omit<TemplateProblem, 'message'>): Position {
  if (problem.line === undefined || typeof node.value !== 'string') return node.at;
  const { line, column = 1 } = problem;
  const lines = node.value.split('\n');
  const text = lines[line - 1] ?? '';
  if (node.style === 'literal') {
    // Line n of the value is n lines below the `|`; what precedes the value's text on that line is indentation.
    const raw = lineText(source, node.at.line + line);
    return raw.endsWith(text)
      ? { line: node.at.line + line, column: raw.length - text.length + column }
      : { line: node.at.line + line, column: 1 };
  }
  if (node.style === 'folded') return node.at;
  const before = [...lines.slice(0, line - 1), text.slice(0, column - 1)].join('\n');
  const start = node.style === 'quoted' ? node.offset + 1 : node.offset;
  return source.text.startsWith(before, start) ? positionAt(source, start + before.length) : node.at;
}
