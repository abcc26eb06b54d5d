// What validation tells an author: where, what is wrong, and what to write instead.

export type Severity = 'error' | 'warning';

export interface Diagnostic {
  readonly severity: Severity;
  /** Stable, greppable: `yaml.syntax`, `step.unknown-target`, `tool.unknown-kind`, `template.syntax`, … */
  readonly code: string;
  readonly message: string;
  /** What to write instead. */
  readonly hint?: string;
  /** Where in the document: `workflow[2].next.arcs[0].step`. */
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

/** `file:line:column: error[code]: message (hint)`: the form editors and CI annotations understand. */
export function formatDiagnostic(d: Diagnostic, file = '<playbook>'): string {
  const hint = d.hint === undefined ? '' : `\n    ${d.hint}`;
  return `${file}:${d.line}:${d.column}: ${d.severity}[${d.code}]: ${d.message}${hint}`;
}
