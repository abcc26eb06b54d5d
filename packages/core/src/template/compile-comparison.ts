// Comparisons, which chain as in Python: `0 < x <= 10` evaluates x once and means both.
import type { Comparison, ComparisonOperator, Expr } from './ast.js';
import { type Compiler, compileExpression, type Eval } from './compile-expression.js';
import type { Run } from './scope.js';
import { contains, equal, order } from './values.js';

type Compare = (left: unknown, right: unknown, run: Run) => boolean;

const COMPARE: Readonly<Record<ComparisonOperator, Compare>> = {
  '==': (left, right, run) => equal(left, right, run),
  '!=': (left, right, run) => !equal(left, right, run),
  '<': (left, right, run) => (order(left, right, run) ?? 0) < 0,
  '>': (left, right, run) => (order(left, right, run) ?? 0) > 0,
  '<=': (left, right, run) => (order(left, right, run) ?? 1) <= 0,
  '>=': (left, right, run) => (order(left, right, run) ?? -1) >= 0,
  in: (left, right, run) => contains(right, left, run),
  'not in': (left, right, run) => !contains(right, left, run),
};

export function compileComparison(compiler: Compiler, first: Expr, rest: readonly Comparison[]): Eval {
  const start = compileExpression(compiler, first);
  const links = rest.map(({ op, right, at }) => ({
    compare: COMPARE[op],
    right: compileExpression(compiler, right),
    at,
  }));
  return (run) => {
    let left = start(run);
    for (const { compare, right, at } of links) {
      const value = right(run);
      run.at = at;
      if (!compare(left, value, run)) return false;
      left = value;
    }
    return true;
  };
}
