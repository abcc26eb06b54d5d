// Turns the nodes of a template into closures that write text: outputs, `if`, `for` and `set`.
import type { Node, Target } from './ast.js';
import { type Compiler, compileExpression, type Eval } from './compile-expression.js';
import { TemplateError } from './error.js';
import { assignField } from './functions.js';
import { print } from './json-text.js';
import { kindOf } from './kinds.js';
import { allowText, LIMITS, spend, spendText } from './limits.js';
import { declare, inBlock, inBranch, resolve, UNSET } from './names.js';
import type { Run } from './scope.js';
import { iterate, truthy } from './values.js';
import { plain } from './views.js';

export type Emit = (run: Run) => void;
type Assign = (run: Run, value: unknown) => void;

export function compileNodes(compiler: Compiler, nodes: readonly Node[]): Emit {
  const parts = nodes.map((node) => compileNode(compiler, node));
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return (run) => {
    for (const part of parts) part(run);
  };
}

function compileNode(compiler: Compiler, node: Node): Emit {
  const { at } = node;
  switch (node.kind) {
    case 'text': {
      const { text } = node;
      return (run) => emit(run, text);
    }
    case 'output': {
      const value = compileExpression(compiler, node.value);
      return (run) => {
        const printed = value(run);
        run.at = at;
        emit(run, print(printed, run));
      };
    }
    case 'if':
      return compileIf(compiler, node);
    case 'for':
      return compileFor(compiler, node);
    case 'set': {
      const value = compileExpression(compiler, node.value);
      const assign = compileAssignment(compiler, node.target);
      return (run) => assign(run, value(run));
    }
    case 'capture': {
      const body = compileNodes(compiler, node.body);
      const assign = compileAssignment(compiler, node.target);
      return (run) => {
        const outer = run.out;
        run.out = '';
        body(run);
        const captured = run.out;
        run.out = outer;
        assign(run, captured);
      };
    }
  }
}

function emit(run: Run, text: string): void {
  const length = run.out.length + text.length;
  if (length > LIMITS.output) allowText(run, length);
  spendText(run, text.length);
  run.out += text;
}

function compileIf(compiler: Compiler, node: Extract<Node, { kind: 'if' }>): Emit {
  const branches = node.branches.map(({ test, body }) => ({
    test: compileExpression(compiler, test),
    body: inBranch(compiler.names, () => compileNodes(compiler, body)),
  }));
  const otherwise = inBranch(compiler.names, () => compileNodes(compiler, node.otherwise));
  return (run) => {
    for (const { test, body } of branches) {
      if (truthy(test(run), run)) return body(run);
    }
    return otherwise(run);
  };
}

function compileFor(compiler: Compiler, node: Extract<Node, { kind: 'for' }>): Emit {
  const { names } = compiler;
  const over = compileExpression(compiler, node.over);
  const firstSlot = names.slots;
  const before = compiler.expressions;
  const loop = inBlock(names, () => {
    const assign = compileAssignment(compiler, node.target);
    const where = node.where && compileExpression(compiler, node.where);
    const state = declare(names, 'loop');
    return { assign, where, state, body: compileNodes(compiler, node.body) };
  });
  const endSlot = names.slots;
  // An iteration is charged by the size of its body: a long body must not make the step limit meaningless.
  const weight = 1 + ((compiler.expressions - before + endSlot - firstSlot) >>> 2);
  const otherwise = inBranch(names, () => compileNodes(compiler, node.otherwise));
  const { at } = node;

  return (run) => {
    const value = over(run);
    run.at = at;
    const all = iterate(value, run);
    const items = loop.where ? all.filter((item) => admits(loop.where, loop.assign, item, weight, run)) : all;
    if (items.length === 0) return otherwise(run);
    for (let index = 0; index < items.length; index++) {
      run.at = at;
      spend(run, weight);
      run.locals.fill(UNSET, firstSlot, endSlot);
      loop.assign(run, items[index]);
      run.locals[loop.state] = loopState(items, index);
      loop.body(run);
    }
  };
}

function admits(where: Eval | undefined, assign: Assign, item: unknown, weight: number, run: Run): boolean {
  spend(run, weight);
  assign(run, item);
  return where === undefined || truthy(where(run), run);
}

/** What `loop` means inside a loop body. */
function loopState(items: readonly unknown[], index: number): Record<string, unknown> {
  const last = items.length - 1;
  return {
    index: index + 1,
    index0: index,
    revindex: last - index + 1,
    revindex0: last - index,
    first: index === 0,
    last: index === last,
    length: items.length,
    previtem: index === 0 ? null : items[index - 1],
    nextitem: index === last ? null : items[index + 1],
  };
}

function compileAssignment(compiler: Compiler, target: Target): Assign {
  if (target.kind === 'field') {
    const read = compileExpression(compiler, { kind: 'name', name: target.name, at: target.at });
    // A name from the scope is never a namespace: say so before anything runs.
    if (resolve(compiler.names, target.name).fromScope && resolve(compiler.names, target.name).slots.length === 0) {
      throw new TemplateError(`'${target.name}' is not a namespace() of this template`, { offset: target.at });
    }
    return (run, value) => {
      run.at = target.at;
      assignField(read(run), target.field, value);
    };
  }
  const slots = target.names.map((name) => declare(compiler.names, name));
  const [only] = slots;
  if (!target.unpack && only !== undefined) {
    return (run, value) => {
      run.locals[only] = value;
    };
  }
  return (run, value) => {
    const parts = plain(value);
    run.at = target.at;
    if (!Array.isArray(parts) || parts.length !== slots.length) {
      const found = Array.isArray(parts) ? `a list of ${parts.length}` : kindOf(parts);
      throw new TemplateError(
        `expected a list of ${slots.length} to assign to ${target.names.join(', ')}, not ${found}`,
      );
    }
    for (const [index, slot] of slots.entries()) run.locals[slot] = parts[index];
  };
}
