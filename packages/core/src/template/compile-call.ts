// Filters, tests, functions and methods: names are looked up and arguments matched while compiling, so that a
// misspelt filter is an error of the playbook, not of the run.
import type { Args, Expr } from './ast.js';
import { type Compiler, compileArgs, compileExpression, type Eval, namedArgs } from './compile-expression.js';
import { TemplateError } from './error.js';
import { applyFilter, type Filter, findFilter } from './filters/index.js';
import { findFunction } from './functions.js';
import { isMap } from './kinds.js';
import { callMethod, methodSignatures } from './methods.js';
import { resolve } from './names.js';
import { applyTest, findTest } from './predicates.js';
import { matchArgs, type Signature } from './signature.js';
import { item } from './values.js';

export function compileFilter(compiler: Compiler, of: Expr, name: string, args: Args, at: number): Eval {
  const found = placed(at, () => findFilter(name));
  const matched = matchArgs(`filter '${name}'`, found.signature, args, at);
  checkReference(found, matched);
  const subject = compileExpression(compiler, of);
  const values = compileArgs(compiler, matched);
  return (run) => {
    const value = subject(run);
    const given = values(run);
    run.at = at;
    return applyFilter(found, value, given, run);
  };
}

/** `map('uppper')` names a filter in a string; when that string is a constant it can be checked now. */
function checkReference(found: Filter, args: readonly (Expr | undefined)[]): void {
  const named = found.refersTo && args[found.refersTo.argument];
  if (named?.kind !== 'constant' || typeof named.value !== 'string') return;
  const { value, at } = named;
  placed(at, () => (found.refersTo?.registry === 'filter' ? findFilter(value) : findTest(value)));
}

export function compileTest(
  compiler: Compiler,
  of: Expr,
  name: string,
  args: Args,
  negated: boolean,
  at: number,
): Eval {
  const found = placed(at, () => findTest(name));
  const subject = compileExpression(compiler, of);
  const values = compileArgs(compiler, matchArgs(`test '${name}'`, found.signature, args, at));
  return (run) => {
    const value = subject(run);
    const given = values(run);
    run.at = at;
    return applyTest(found, value, given, run) !== negated;
  };
}

export function compileCall(compiler: Compiler, name: string, args: Args, at: number): Eval {
  const found = placed(at, () => findFunction(name));
  if (found.takesKeys) {
    const matched = matchArgs(`function '${name}'`, found.signature, { ...args, named: [] }, at);
    const values = compileArgs(compiler, matched);
    const keys = namedArgs(compiler, args);
    return (run) => {
      const given = values(run);
      const fields = keys(run);
      run.at = at;
      return found.call(given, fields, run);
    };
  }
  const values = compileArgs(compiler, matchArgs(`function '${name}'`, found.signature, args, at));
  return (run) => {
    const given = values(run);
    run.at = at;
    return found.call(given, {}, run);
  };
}

export function compileMethod(compiler: Compiler, of: Expr, name: string, args: Args, at: number): Eval {
  if (of.kind === 'name' && of.name === 'loop' && name === 'cycle' && !resolve(compiler.names, 'loop').fromScope) {
    return compileCycle(compiler, of, args, at);
  }
  const matched = matchMethodArgs(name, args, at);
  const subject = compileExpression(compiler, of);
  const values = compileArgs(compiler, matched);
  return (run) => {
    const receiver = subject(run);
    const given = values(run);
    run.at = at;
    return callMethod(name, receiver, given, run);
  };
}

/** Text, lists and maps may share a name (`count`); the call must suit at least one of them. */
function matchMethodArgs(name: string, args: Args, at: number): (Expr | undefined)[] {
  let failure: unknown;
  for (const signature of placed(at, () => methodSignatures(name))) {
    try {
      return matchArgs(`method '${name}'`, signature, args, at);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function compileCycle(compiler: Compiler, loop: Expr, args: Args, at: number): Eval {
  const anything: Signature = { names: [], positions: new Map(), required: 0, rest: true };
  const values = compileArgs(compiler, matchArgs("method 'cycle'", anything, args, at));
  const subject = compileExpression(compiler, loop);
  return (run) => {
    const given = values(run);
    const state = subject(run);
    const round = isMap(state) ? Number(state['index0']) : 0;
    return item(given, given.length === 0 ? 0 : round % given.length, run);
  };
}

function placed<T>(at: number, find: () => T): T {
  try {
    return find();
  } catch (error) {
    if (error instanceof TemplateError) throw new TemplateError(error.message, { offset: at });
    throw error;
  }
}
