// Collects diagnostics while a playbook is read. Nothing stops at the first problem; hostile input cannot grow the list
// without bound, and an error always fails the parse even when the list is already full.
import type { Diagnostic, Severity } from './diagnostics.js';
import type { Place } from './node.js';

const MAX_PER_SEVERITY = 200;

export interface Report {
  error(code: string, message: string, place: Place, hint?: string): void;
  warning(code: string, message: string, place: Place, hint?: string): void;
  readonly failed: () => boolean;
  /** In document order. */
  readonly diagnostics: () => Diagnostic[];
}

export function createReport(): Report {
  // Keyed by what the author sees: a problem inside an anchor that is used twice is told once.
  const found = { error: new Map<string, Diagnostic>(), warning: new Map<string, Diagnostic>() };

  const add = (severity: Severity, code: string, message: string, place: Place, hint: string | undefined): void => {
    const list = found[severity];
    if (list.size >= MAX_PER_SEVERITY) return;
    const { line, column } = place.at;
    const told = hint === undefined ? {} : { hint };
    list.set(`${line}:${column}:${code}:${message}`, {
      severity,
      code,
      message,
      ...told,
      path: place.path,
      line,
      column,
    });
  };

  return {
    error: (code, message, place, hint) => add('error', code, message, place, hint),
    warning: (code, message, place, hint) => add('warning', code, message, place, hint),
    failed: () => found.error.size > 0,
    diagnostics: () =>
      [...found.error.values(), ...found.warning.values()].sort((a, b) => a.line - b.line || a.column - b.column),
  };
}
