// Everything that can be known about a playbook before it runs: its shape, its templates, and whether this engine runs it.
// Register, `noetl run` and editors all ask here, so they all say the same.
import type { Diagnostic, Severity } from './playbook/diagnostics.js';
import { type ParseOptions, parsePlaybook } from './playbook/index.js';
import type { Playbook, Step } from './playbook/model.js';
import { compileCondition, compileTemplate, TemplateError } from './template/index.js';

export interface CheckedPlaybook {
  /** Absent when any diagnostic is an error. */
  readonly playbook?: Playbook;
  readonly diagnostics: readonly Diagnostic[];
}

/** `tests`: read and check the tests of the playbook too. */
export function checkPlaybook(text: string, options: Pick<ParseOptions, 'tests'> = {}): CheckedPlaybook {
  const parsed = parsePlaybook(text, { checkTemplate, ...options });
  if (parsed.playbook === undefined) return parsed;
  const unsupported = parsed.playbook.steps.flatMap(unsupportedParts);
  const diagnostics = [...parsed.diagnostics, ...unsupported];
  return unsupported.some((diagnostic) => diagnostic.severity === 'error')
    ? { diagnostics }
    : { playbook: parsed.playbook, diagnostics };
}

function checkTemplate(source: string, kind: 'value' | 'condition') {
  try {
    const { roots } = kind === 'condition' ? compileCondition(source) : compileTemplate(source);
    return { names: roots };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return {
      message: error.message,
      ...(error.line === undefined ? {} : { line: error.line }),
      ...(error.column === undefined ? {} : { column: error.column }),
    };
  }
}

/** Parts of the language that this engine does not run are said at registration, not discovered at run time. */
function unsupportedParts(step: Step, index: number): Diagnostic[] {
  const found: Diagnostic[] = [];
  const add = (severity: Severity, code: string, message: string, hint: string) =>
    found.push({
      severity,
      code,
      message: `Step '${step.name}' ${message}`,
      path: `workflow[${index}]`,
      hint,
      ...step.at,
    });
  const ignored = (part: string) =>
    add('warning', 'engine.ignored', `uses ${part}, which this version ignores`, 'remove it: nothing reads it');
  if (step.loop?.mode === 'cursor' && step.spec.onError === 'retry') ignored('`spec.on_error: retry` on a cursor loop');
  const tasks = step.tool.type === 'single' ? [step.tool.task] : step.tool.tasks;
  const alone = step.tool.type === 'single' && step.tool.task.policy.length === 0;
  if (!alone && tasks.some(({ kind }) => kind === 'wait'))
    add(
      'error',
      'tool.wait-alone',
      'uses `kind: wait` in a list of tools or with a policy; nothing could hold the list while it waits',
      'make the wait a step of its own and handle its time-out with an arc',
    );
  const saysWhat = tasks.some(({ config }) => ['for', 'until', 'signal'].some((key) => key in config));
  if (alone && tasks[0]?.kind === 'wait' && !saysWhat)
    add('error', 'tool.wait-for-what', 'uses `kind: wait` and does not say what for', 'add `for`, `until` or `signal`');
  return found;
}
