// Checks the names in a test against the steps of the playbook: a mock that never answers, or an expectation about a step that does not
// exist, would make a test pass for the wrong reason.
import type { Diagnostic } from './diagnostics.js';
import type { Step } from './model.js';
import { createReport, type Report } from './report.js';
import { didYouMean } from './suggest.js';
import type { Mock, Named, PlaybookTest } from './test-model.js';

export function checkTestNames(tests: readonly PlaybookTest[], steps: readonly Step[], report: Report): void {
  const names = steps.map(({ name }) => name);
  const callable = callableNames(steps);
  for (const { name, mocks, expect } of tests) {
    const subject = `Test '${name}': `;
    const check = (used: readonly Named[], known: readonly string[]) => {
      for (const one of used) refuseUnknown(one, known, subject, report);
    };
    checkMocks(mocks, steps, subject, report);
    check((expect.path ?? []).flat(), names);
    check([...expect.visited, ...expect.notVisited, ...expect.skipped, ...expect.steps], names);
    check([...expect.calls, ...expect.callsWith], callable);
  }
}

/** The mocks for the steps of another playbook, which only those who have its file can check. */
export function checkMockNames(mocks: readonly Mock[], steps: readonly Step[], subject: string): Diagnostic[] {
  const report = createReport();
  checkMocks(mocks, steps, subject, report);
  return report.diagnostics();
}

function checkMocks(mocks: readonly Mock[], steps: readonly Step[], subject: string, report: Report): void {
  const callable = callableNames(steps);
  for (const mock of mocks) {
    if (!refuseUnknown(mock, callable, subject, report)) continue;
    const step = steps.find(({ name }) => name === mock.name);
    const kind = step?.tool.type === 'single' ? step.tool.task.kind : undefined;
    const whole = steps.find(({ name }) => mock.name.startsWith(`${name}.`));
    const twice = whole?.tool.type === 'pipeline' && mocks.some(({ name }) => name === whole.name);
    if (step === undefined && twice) {
      const message = `${subject}'${whole.name}' is mocked as a whole, so '${mock.name}' is never called`;
      report.error('test.mock', message, mock, 'remove one of the two');
    }
    if (kind === 'wait') {
      const message = `${subject}'${mock.name}' waits, and a wait is never mocked`;
      report.error('test.mock', message, mock, 'time passes by itself; `signals` end a wait for a signal');
    }
    const alone = step?.tool.type === 'single' && step.tool.task.policy.length === 0;
    if (mock.answers.some(({ type }) => type === 'run') && !(kind === 'playbook' && alone)) {
      const message = `${subject}'${mock.name}' cannot be \`run\`: it is not a step with \`kind: playbook\` of its own`;
      report.error('test.mock', message, mock, 'write a `result` instead');
    }
  }
}

/** Steps, tasks of lists as `step.task`, and the claims of cursors as `step.claim`. */
function callableNames(steps: readonly Step[]): string[] {
  return steps.flatMap(({ name, tool, loop }) => [
    name,
    ...(tool.type === 'pipeline' ? tool.tasks.map(({ label }) => `${name}.${label}`) : []),
    ...(loop?.mode === 'cursor' ? [`${name}.claim`] : []),
  ]);
}

function refuseUnknown(used: Named, known: readonly string[], subject: string, report: Report): boolean {
  if (known.includes(used.name)) return true;
  const message = `${subject}there is no step '${used.name}' in this playbook`;
  report.error('test.unknown-step', message, used, didYouMean(used.name, known, `steps: ${known.join(', ')}`));
  return false;
}
