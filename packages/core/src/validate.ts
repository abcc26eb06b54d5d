// Everything that can be known about a playbook before it runs: its shape, its templates, and whether this engine runs it.
// Register, `noetl run` and editors all ask here, so they all say the same.
import type { Diagnostic, Severity } from './playbook/diagnostics.js';
import { parsePlaybook } from './playbook/index.js';
import type { Playbook, Step } from './playbook/model.js';
import { compileCondition, compileTemplate, TemplateError } from './template/index.js';

export interface CheckedPlaybook {
  /** Absent when any diagnostic is an error. */
  readonly playbook?: Playbook;
  readonly diagnostics: readonly Diagnostic[];
}

export function checkPlaybook(text: string): CheckedPlaybook {
  const parsed = parsePlaybook(text, { checkTemplate });
  if (parsed.playbook === undefined) return parsed;
  const unsupported = parsed.playbook.steps.flatMap(unsupportedParts);
  const diagnostics = [...parsed.diagnostics, ...unsupported];
  return unsupported.some((diagnostic) => diagnostic.severity === 'error')
    ? { diagnostics }
    : { playbook: parsed.playbook, diagnostics };
}

function checkTemplate(source: string, kind: 'value' | 'condition') {
  try {
    if (kind === 'condition') compileCondition(source);
    else compileTemplate(source);
    return undefined;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return {
      message: error.message,
      ...(error.line === undefined ? {} : { line: error.line }),
      ...(error.column === undefined ? {} : { column: error.column }),
    };
  }
}

/** Parts of the language that this engine does not run yet are refused at registration, not discovered at run time. */
function unsupportedParts(step: Step): Diagnostic[] {
  const parts: string[] = [];
  const ignored: string[] = [];
  if (step.emit !== undefined) ignored.push('`emit`');
  if (step.output !== undefined) ignored.push('`output`');
  if (step.loop !== undefined && step.spec.onError === 'retry') ignored.push('`spec.on_error: retry` on a loop');
  if (step.loop?.mode === 'cursor') parts.push('a `cursor` loop');
  const diagnostic = (severity: Severity, code: string, message: string): Diagnostic => ({
    severity,
    code,
    message: `Step '${step.name}' uses ${message}`,
    path: `workflow.${step.name}`,
    ...step.at,
  });
  return [
    ...parts.map((part) => diagnostic('error', 'engine.unsupported', `${part}, which this version does not run yet`)),
    ...ignored.map((part) => diagnostic('warning', 'engine.ignored', `${part}, which this version ignores`)),
  ];
}
