// Conditions: `when` guards and policy rules. A lone expression is judged by its value, anything else by its text.
import { parseCondition } from './parse-template.js';
import type { Scope } from './scope.js';
import { compileBare, compileTemplate, isTemplate } from './template.js';
import { isFalseWord, truthy } from './values.js';
import { plain } from './views.js';

export interface Condition {
  readonly source: string;
  readonly roots: ReadonlySet<string>;
  test(scope: Scope): boolean;
}

export function compileCondition(source: string | boolean): Condition {
  if (typeof source === 'boolean') return { source: String(source), roots: new Set(), test: () => source };
  if (!isTemplate(source)) {
    const { roots, value } = compileBare(source, parseCondition);
    return { source, roots, test: (scope) => holds(value(scope)) };
  }
  const { roots, lone, text } = compileTemplate(source);
  const value = lone ?? text;
  return { source, roots, test: (scope) => holds(value(scope)) };
}

/** Python's truthiness, except that text which spells "no" (`"false"`, `"0"`, `"off"` …) is false as well. */
function holds(value: unknown): boolean {
  const data = plain(value);
  return typeof data === 'string' ? !isFalseWord(data) : truthy(data, { steps: 0 });
}
