// Turns an expression into one closure, once. Everything that can be decided from the text alone (names of filters, tests
// and functions, arguments, constants, local slots) is decided here; a closure only looks up and computes.
import type { Args, Expr } from './ast.js';
import { compileCall, compileFilter, compileMethod, compileTest } from './compile-call.js';
import { compileComparison } from './compile-comparison.js';
import { TemplateError } from './error.js';
import { print } from './json-text.js';
import { isNothing, type MapValue, put } from './kinds.js';
import { allowText, LIMITS } from './limits.js';
import { type Names, resolve, UNSET } from './names.js';
import { arithmetic, signed, slice } from './operators.js';
import type { Run } from './scope.js';
import { item, keyOf, member, truthy } from './values.js';
import { plain } from './views.js';

export type Eval = (run: Run) => unknown;

/** What compiling an expression knows about its surroundings. */
export interface Compiler {
  readonly names: Names;
  depth: number;
  /** Expressions compiled so far: what a loop body costs per iteration. */
  expressions: number;
}

export function compileExpression(compiler: Compiler, expr: Expr): Eval {
  compiler.depth += 1;
  compiler.expressions += 1;
  if (compiler.depth > LIMITS.depth * 2) throw new TemplateError('the expression is too long', { offset: expr.at });
  const compiled = compileNode(compiler, expr);
  compiler.depth -= 1;
  return compiled;
}

function compileNode(compiler: Compiler, expr: Expr): Eval {
  const compile = (inner: Expr): Eval => compileExpression(compiler, inner);
  const { at } = expr;
  switch (expr.kind) {
    case 'constant': {
      const { value } = expr;
      return () => value;
    }
    case 'name':
      return compileName(compiler.names, expr.name);
    case 'list': {
      const items = expr.items.map(compile);
      return (run) => items.map((evaluate) => present(evaluate(run)));
    }
    case 'map':
      return compileMap(
        expr.entries.map(([key, value]) => [compile(key), compile(value)] as const),
        at,
      );
    case 'member': {
      const of = compile(expr.of);
      const { key } = expr;
      return (run) => member(of(run), key);
    }
    case 'index': {
      const of = compile(expr.of);
      const key = compile(expr.key);
      return (run) => item(of(run), key(run), run);
    }
    case 'slice': {
      const of = compile(expr.of);
      const [start, stop, step] = [expr.start, expr.stop, expr.step].map((bound) => bound && compile(bound));
      return (run) => {
        const [value, from, to, by] = [of(run), start?.(run), stop?.(run), step?.(run)];
        run.at = at;
        return slice(value, from, to, by, run);
      };
    }
    case 'call':
      return compileCall(compiler, expr.name, expr.args, at);
    case 'method':
      return compileMethod(compiler, expr.of, expr.name, expr.args, at);
    case 'filter':
      return compileFilter(compiler, expr.of, expr.name, expr.args, at);
    case 'test':
      return compileTest(compiler, expr.of, expr.name, expr.args, expr.negated, at);
    case 'sign': {
      const of = compile(expr.of);
      const { negative } = expr;
      return (run) => {
        const value = of(run);
        run.at = at;
        return signed(required(value, expr.of, 'a sign'), negative);
      };
    }
    case 'not': {
      const of = compile(expr.of);
      return (run) => !truthy(of(run), run);
    }
    case 'and':
    case 'or':
      return compileJunction(expr.parts.map(compile), expr.kind === 'or');
    case 'compare':
      return compileComparison(compiler, expr.first, expr.rest);
    case 'arithmetic': {
      const left = compile(expr.left);
      const right = compile(expr.right);
      const { op } = expr;
      return (run) => {
        const [a, b] = [left(run), right(run)];
        run.at = at;
        return arithmetic(op, required(a, expr.left, `'${op}'`), required(b, expr.right, `'${op}'`), run);
      };
    }
    case 'concat':
      return compileConcat(expr.parts.map(compile), at);
    case 'choose': {
      const test = compile(expr.test);
      const value = compile(expr.value);
      const otherwise = expr.otherwise ? compile(expr.otherwise) : () => undefined;
      return (run) => (truthy(test(run), run) ? value(run) : otherwise(run));
    }
  }
}

function compileName(names: Names, name: string): Eval {
  const { slots, fromScope } = resolve(names, name);
  const [first] = slots;
  if (first === undefined) return (run) => run.scope.get(name);
  if (slots.length === 1 && !fromScope) return (run) => run.locals[first];
  return (run) => {
    for (const slot of slots) if (run.locals[slot] !== UNSET) return run.locals[slot];
    return fromScope ? run.scope.get(name) : undefined;
  };
}

function compileMap(entries: readonly (readonly [Eval, Eval])[], at: number): Eval {
  return (run) => {
    const map: MapValue = {};
    for (const [key, value] of entries) {
      const evaluated = key(run);
      run.at = at;
      put(map, keyOf(plain(evaluated)), present(value(run)));
    }
    return map;
  };
}

/** `and` and `or` answer with the operand that decided, as in Python. */
function compileJunction(parts: readonly Eval[], decisive: boolean): Eval {
  return (run) => {
    let value: unknown;
    for (const part of parts) {
      value = part(run);
      if (truthy(value, run) === decisive) return value;
    }
    return value;
  };
}

function compileConcat(parts: readonly Eval[], at: number): Eval {
  return (run) => {
    let text = '';
    for (const part of parts) {
      const value = part(run);
      run.at = at;
      text += print(value, run);
      allowText(run, text.length);
    }
    return text;
  };
}

/** Argument closures in order; an argument left out is undefined, one that is given but nothing is null. */
export function compileArgs(compiler: Compiler, args: readonly (Expr | undefined)[]): (run: Run) => unknown[] {
  const evals = args.map((arg) => arg && compileExpression(compiler, arg));
  return (run) => evals.map((evaluate) => (evaluate ? present(plain(evaluate(run))) : undefined));
}

export function namedArgs(compiler: Compiler, args: Args): (run: Run) => MapValue {
  const evals = args.named.map(({ name, value }) => [name, compileExpression(compiler, value)] as const);
  return (run) => {
    const keys: MapValue = {};
    for (const [name, evaluate] of evals) put(keys, name, present(evaluate(run)));
    return keys;
  };
}

/** Undefined never enters a collection: JSON has only null. */
function present(value: unknown): unknown {
  return value === undefined ? null : value;
}

/** Arithmetic on a missing value is a mistake of the author; the message names what is missing. */
function required(value: unknown, expr: Expr, operation: string): unknown {
  if (!isNothing(plain(value))) return value;
  const what = describe(expr);
  throw new TemplateError(
    `${what ? `'${what}'` : 'a value'} is undefined or null, so ${operation} does not work; give it a value with '| default(…)'`,
  );
}

function describe(expr: Expr): string | undefined {
  switch (expr.kind) {
    case 'name':
      return expr.name;
    case 'member': {
      const of = describe(expr.of);
      return of === undefined ? undefined : `${of}.${expr.key}`;
    }
    default:
      return undefined;
  }
}
