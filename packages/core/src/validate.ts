// Everything that can be known about a playbook before it runs: its shape, its templates, and whether this engine runs it.
// Register, `noetl run` and editors all ask here, so they all say the same.
import type { Diagnostic } from './playbook/diagnostics.js';
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
  return unsupported.length > 0 ? { diagnostics } : { playbook: parsed.playbook, diagnostics };
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
  if (step.loop !== undefined) parts.push('`loop`');
  if (step.tool.type === 'pipeline') parts.push('a list of tools');
  else if (step.tool.task.policy.length > 0) parts.push('`spec.policy.rules`');
  return parts.map((part) => ({
    severity: 'error',
    code: 'engine.unsupported',
    message: `Step '${step.name}' uses ${part}, which this version does not run yet`,
    path: `workflow.${step.name}`,
    ...step.at,
  }));
}
