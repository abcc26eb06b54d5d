// Durations and waits in the words of test reports.
import type { Waiting } from '@noetl/core';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** `1h30m`, `4s`, `250ms`: as it is written in a playbook. */
export function shortDuration(milliseconds: number): string {
  let rest = Math.max(0, Math.round(milliseconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join('') || '0s';
}

/** Why an execution does not move, and what in the test would move it. */
export function describeWaiting(waiting: Waiting): string {
  switch (waiting.kind) {
    case 'signal':
      return `step '${waiting.step}' waits for the signal '${waiting.for}': send it under \`signals\``;
    case 'timer':
      return `step '${waiting.step}' waits until ${waiting.dueAt}`;
    case 'child':
      return `step '${waiting.step}' waits for the playbook it has started`;
    case 'join':
      return `step '${waiting.step}' waits for ${waiting.missing.join(', ') || 'its other branches'}`;
    case 'failure_draining':
      return `step '${waiting.step}' failed (${waiting.error}), and what runs beside it does not end`;
    case 'command_pending':
    case 'command_running':
      return `step '${waiting.step}' does not end`;
  }
}
