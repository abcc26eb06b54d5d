// Plays the one test of a playbook that is written out in a test of ours.
import { checkPlaybook, formatDiagnostic, type Playbook } from '@noetl/core';
import { type Played, play, type StageOptions } from '../playbook-tests/stage.js';
import { judge, type Mismatch } from '../playbook-tests/verdict.js';

const HEAD = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/under_test }
`;

export function playbookOf(yaml: string): Playbook {
  const { playbook, diagnostics } = checkPlaybook(yaml.startsWith('apiVersion') ? yaml : HEAD + yaml, { tests: true });
  if (playbook === undefined) throw new Error(diagnostics.map((one) => formatDiagnostic(one)).join('\n'));
  return playbook;
}

export interface Shown extends Played {
  readonly path: readonly string[];
  readonly mismatches: readonly Mismatch[];
}

/** `yaml` without its head; the first test in it is played. */
export async function played(yaml: string, options: Partial<StageOptions> = {}): Promise<Shown> {
  const playbook = playbookOf(yaml);
  const test = playbook.tests?.[0];
  if (test === undefined) throw new Error('there is no test in it');
  const outcome = await play({ playbook, test, children: new Map(), real: new Set(), ...options });
  const path = outcome.events.flatMap((event) => (event.type === 'step.enter' ? [event.step] : []));
  return { ...outcome, path, mismatches: judge(test.expect, outcome) };
}
