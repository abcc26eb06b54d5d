// Reads a playbook with its tests, and the other playbooks that its tests run. All problems are found before anything runs.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  checkMockNames,
  checkPlaybook,
  type Diagnostic,
  type Mock,
  type Playbook,
  type PlaybookTest,
} from '@noetl/core';
import { messageOf } from '../errors.js';

export interface TestFile {
  readonly file: string;
  readonly playbook: Playbook;
  readonly tests: readonly LoadedTest[];
}

export interface LoadedTest {
  readonly test: PlaybookTest;
  /** Playbooks that it may run, by their path. */
  readonly children: ReadonlyMap<string, Playbook>;
}

export interface Loaded {
  /** Absent when any problem is an error. */
  readonly loaded?: TestFile;
  readonly problems: readonly FileProblem[];
}

export interface FileProblem extends Diagnostic {
  readonly file: string;
}

export function loadTests(file: string): Loaded {
  const problems: FileProblem[] = [];
  const playbook = readPlaybook(file, problems, true);
  if (playbook === undefined) return { problems };
  const tests = (playbook.tests ?? []).map((test): LoadedTest => {
    const children = new Map<string, Playbook>();
    for (const { name, path, at } of test.playbooks) {
      const found: FileProblem[] = [];
      const child = readPlaybook(join(dirname(file), name), found, false);
      if (child !== undefined) children.set(child.metadata.path, child);
      else if (found.length > 0) {
        const message = `Test '${test.name}': ${name} cannot be used: ${found[0]?.message}`;
        problems.push({ file, severity: 'error', code: 'test.playbook', message, path, ...at });
      }
    }
    problems.push(...childProblems(playbook, test.mocks, children, test.name).map((one) => ({ file, ...one })));
    return { test, children };
  });
  return problems.some(({ severity }) => severity === 'error')
    ? { problems }
    : { loaded: { file, playbook, tests }, problems };
}

function readPlaybook(file: string, problems: FileProblem[], tests: boolean): Playbook | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const message = messageOf(error);
    problems.push({ file, severity: 'error', code: 'file.unreadable', message, path: '', line: 1, column: 1 });
    return undefined;
  }
  const { playbook, diagnostics } = checkPlaybook(text, { tests });
  // Warnings are the business of `noetl validate`.
  problems.push(...diagnostics.filter(({ severity }) => severity === 'error').map((one) => ({ file, ...one })));
  return playbook;
}

/** Mocks for the steps of a playbook that is run by a step: checked when the step says which one it is. */
function childProblems(
  playbook: Playbook,
  mocks: readonly Mock[],
  children: ReadonlyMap<string, Playbook>,
  test: string,
): Diagnostic[] {
  return mocks.flatMap(({ name, answers }) => {
    const step = playbook.steps.find((candidate) => candidate.name === name);
    const path = step?.tool.type === 'single' ? step.tool.task.config['path'] : undefined;
    const child = typeof path === 'string' ? children.get(path.trim()) : undefined;
    if (child === undefined) return [];
    return answers.flatMap((answer) => {
      if (answer.type !== 'run') return [];
      const subject = `Test '${test}', playbook '${child.metadata.path}': `;
      return [
        ...checkMockNames(answer.mocks, child.steps, subject),
        ...childProblems(child, answer.mocks, children, test),
      ];
    });
  });
}
