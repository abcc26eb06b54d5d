// A compiled template. A lone `{{ expression }}` keeps the type of its value; everything else is text.
// Evaluation is pure: same template, same scope, same result; the only error it raises by itself is TemplateError.
import type { Json } from '../json/types.js';
import type { Expr, Node } from './ast.js';
import { type Compiler, compileExpression, type Eval } from './compile-expression.js';
import { compileNodes } from './compile-nodes.js';
import { locate, TemplateError } from './error.js';
import { toJson } from './json-text.js';
import { createNames, UNSET } from './names.js';
import { parseTemplate } from './parse-template.js';
import type { Run, Scope } from './scope.js';

export interface Template {
  readonly source: string;
  /** Root names the template reads: neither locals nor functions. */
  readonly roots: ReadonlySet<string>;
  /** The native value of a lone expression (nothing becomes null), otherwise text. */
  evaluate(scope: Scope): Json;
  /** Always text, for code, commands, queries and addresses. */
  text(scope: Scope): string;
}

/** A template together with the expression it consists of, when it is a single one. */
export interface CompiledTemplate extends Template {
  readonly lone: ((scope: Scope) => unknown) | undefined;
}

export function isTemplate(text: string): boolean {
  return (text.includes('{{') && text.includes('}}')) || (text.includes('{%') && text.includes('%}'));
}

export function compileTemplate(source: string): CompiledTemplate {
  if (!isTemplate(source)) {
    return { source, roots: new Set(), lone: undefined, evaluate: () => source, text: () => source };
  }
  return guardCompile(source, () => {
    const nodes = parseTemplate(source);
    const compiler: Compiler = { names: createNames(), depth: 0, expressions: 0 };
    const emit = compileNodes(compiler, nodes);
    const expression = loneExpression(nodes);
    const slots = compiler.names.slots;

    const text = (scope: Scope): string =>
      guardRun(source, scope, slots, (run) => {
        emit(run);
        return run.out;
      });
    if (expression === undefined) return { source, roots: compiler.names.roots, lone: undefined, evaluate: text, text };

    const value = compileExpression(compiler, withoutOuterToJson(expression));
    return {
      source,
      roots: compiler.names.roots,
      text,
      lone: (scope) => guardRun(source, scope, 0, value),
      evaluate: (scope) => guardRun(source, scope, 0, (run) => toJson(value(run), run)),
    };
  });
}

/** A bare expression such as `count > 3`. */
export function compileBare(
  source: string,
  parse: (source: string) => Expr,
): { roots: ReadonlySet<string>; value: (scope: Scope) => unknown } {
  return guardCompile(source, () => {
    const compiler: Compiler = { names: createNames(), depth: 0, expressions: 0 };
    const value: Eval = compileExpression(compiler, parse(source));
    return { roots: compiler.names.roots, value: (scope) => guardRun(source, scope, 0, value) };
  });
}

function loneExpression(nodes: readonly Node[]): Expr | undefined {
  const visible = nodes.filter((node) => node.kind !== 'text' || node.text.trim() !== '');
  const [node] = visible;
  return visible.length === 1 && node?.kind === 'output' ? node.value : undefined;
}

/** `{{ x | tojson }}` on its own asks for the value in JSON form, which is the value itself. */
function withoutOuterToJson(expression: Expr): Expr {
  return expression.kind === 'filter' && expression.name === 'tojson' ? expression.of : expression;
}

const NO_LOCALS: unknown[] = [];

function guardRun<T>(source: string, scope: Scope, slots: number, work: (run: Run) => T): T {
  const locals = slots === 0 ? NO_LOCALS : new Array<unknown>(slots).fill(UNSET);
  const run: Run = { scope, locals, steps: 0, at: 0, out: '' };
  try {
    return work(run);
  } catch (error) {
    throw understandable(error, source, run.at);
  }
}

function guardCompile<T>(source: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw understandable(error, source, 0);
  }
}

/** Errors of the template get their position; whatever the scope itself threw passes through. */
function understandable(error: unknown, source: string, at: number): unknown {
  if (error instanceof TemplateError) {
    return error.line === undefined ? locate(new TemplateError(error.message), source, error.offset ?? at) : error;
  }
  // The engine's own limits (stack depth, string length), should ours ever be too generous.
  if (error instanceof RangeError)
    return new TemplateError('the template needs too much memory', { source, offset: at });
  return error;
}
