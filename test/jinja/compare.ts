// Our answer and Jinja2's, and when two answers are the same: one kind of number, one kind of nothing, any two errors.
import { compileTemplate, scopeOf, TemplateError } from '../../packages/core/src/template/index.js';

export type Outcome = { readonly ok: true; readonly value: unknown } | Refused;

export interface Refused {
  readonly ok: false;
  readonly error: string;
  /** Jinja2 had used up its time or memory before it had an answer. */
  readonly gaveUp?: true;
}

/** `mode` decides what is compared: the native value of a lone expression, or the text of a template. */
export interface Case {
  readonly template: string;
  readonly mode: 'value' | 'text';
  readonly context: Readonly<Record<string, unknown>>;
}

export const NOW = '2026-01-02T03:04:05.000Z';

export function ours({ template, mode, context }: Case): Outcome {
  const scope = scopeOf({ ...context, __now__: NOW });
  try {
    const compiled = compileTemplate(template);
    return { ok: true, value: mode === 'value' ? compiled.evaluate(scope) : compiled.text(scope) };
  } catch (error) {
    if (error instanceof TemplateError) return { ok: false, error: error.message };
    throw error;
  }
}

/** The expression between the braces of a template that is a single one. */
export function loneExpression(template: string): string | undefined {
  const found = /^\s*\{\{[-+]?([\s\S]*?)-?\}\}\s*$/.exec(template)?.[1]?.trim();
  try {
    return compileTemplate(template).lone === undefined ? undefined : found;
  } catch (error) {
    if (error instanceof TemplateError) return found?.includes('}}') ? undefined : found;
    throw error;
  }
}

export function gaveUp(outcome: Outcome): boolean {
  return !outcome.ok && outcome.gaveUp === true;
}

export function same(a: Outcome, b: Outcome): boolean {
  return a.ok && b.ok ? sameValue(a.value, b.value) : a.ok === b.ok;
}

export function sameValue(a: unknown, b: unknown): boolean {
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [Number(a), Number(b)];
    return x === y || Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y));
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, index) => sameValue(value, b[index]));
  }
  if (isRecord(a) && isRecord(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && sameValue(a[key], b[key]));
  }
  return (a ?? null) === (b ?? null);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
