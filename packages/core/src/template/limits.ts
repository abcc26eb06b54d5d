// What one evaluation may cost. Templates come from playbooks that strangers write and run inside the
// control plane's event loop, so every loop, every growing string and every recursion is charged here.
import { TemplateError } from './error.js';

export const LIMITS = {
  /** Loop iterations, visited list items and pieces of text, together, in one evaluation. */
  steps: 4_000_000,
  /** Characters of rendered text, and of any single intermediate string. */
  output: 16 * 1024 * 1024,
  /** Nesting of expressions and blocks in a template. */
  depth: 200,
  /** Nesting of the data a template prints, compares or returns. */
  dataDepth: 1_000,
  /** Length of a list that a template builds by repetition, concatenation or padding. */
  items: 1_000_000,
  /** Length of `range(…)`. */
  range: 100_000,
  /** Characters that `"x" * n` may produce. */
  repeat: 1024 * 1024,
  /** Size of an integer that arithmetic may produce. */
  integerBits: 8_192,
} as const;

/** Charged by everything whose cost grows with the data. */
export interface Budget {
  steps: number;
}

export function spend(budget: Budget, steps: number): void {
  budget.steps += steps;
  if (budget.steps > LIMITS.steps) {
    throw new TemplateError(`the template does too much work: more than ${LIMITS.steps} steps`);
  }
}

/** Text is far cheaper per character than a list is per item. */
export function spendText(budget: Budget, characters: number): void {
  spend(budget, 1 + (characters >>> 5));
}

/** Asked before a string is built, so that an oversized one never exists. */
export function allowText(budget: Budget, characters: number, limit: number = LIMITS.output): void {
  if (characters > limit) throw new TemplateError(`the text grows beyond ${limit} characters`);
  spendText(budget, characters);
}

export function allowItems(budget: Budget, items: number): void {
  if (items > LIMITS.items) throw new TemplateError(`the list grows beyond ${LIMITS.items} items`);
  spend(budget, 1 + items);
}

export function allowDataDepth(depth: number): void {
  if (depth > LIMITS.dataDepth) throw new TemplateError(`the data is nested deeper than ${LIMITS.dataDepth} levels`);
}
