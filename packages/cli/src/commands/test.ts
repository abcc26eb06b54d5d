// `noetl test FILE…`: runs the tests of playbooks without a server, a database or a network. Results are the data, so they go to stdout;
// what is wrong with a file goes to stderr. Exit codes: 0 all passed, 1 some failed, 2 a file that is no good or has no tests.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatDiagnostic, isToolKind } from '@noetl/core';
import { EXIT, type ExitCode, messageOf, usageError } from '../errors.js';
import { type FileProblem, loadTests, type TestFile } from '../playbook-tests/load.js';
import { junitXml } from '../playbook-tests/report-junit.js';
import { coverageLines, testLines, totalLine } from '../playbook-tests/report-text.js';
import { type FileOutcome, type RunOptions, runFile } from '../playbook-tests/run-file.js';
import { printJson } from '../print-json.js';
import { paletteFor, sanitise, say } from '../terminal.js';

export interface TestOptions {
  readonly output: 'text' | 'json' | 'junit';
  /** Writes JUnit XML to this file, beside the output. */
  readonly junit?: string;
  readonly filter?: string;
  readonly bail?: boolean;
  readonly seed?: number;
  readonly shuffle?: boolean;
  readonly coverage?: boolean;
  readonly real?: string;
}

/** Orders that `--shuffle` tries beside the usual one. */
const SHUFFLED_ORDERS = 20;

export async function test(paths: readonly string[], options: TestOptions): Promise<ExitCode> {
  const run = runOptions(options);
  const { files, problems } = load(paths);
  for (const problem of problems) say(sanitise(formatDiagnostic(problem, problem.file)));
  if (problems.length > 0) return EXIT.usage;

  const outcomes: FileOutcome[] = [];
  for (const file of files) {
    const outcome = await showFile(file, run, options);
    outcomes.push(outcome);
    if (run.bail && failures(outcome) > 0) break;
  }
  if (outcomes.every(({ tests }) => tests.length === 0)) {
    throw usageError(
      options.filter === undefined ? 'No tests.' : `No test has "${options.filter}" in its name.`,
      'A playbook keeps them under `tests:`; docs/testing.md shows how.',
    );
  }
  finish(outcomes, options);
  return outcomes.some((outcome) => failures(outcome) > 0) ? EXIT.error : EXIT.ok;
}

async function showFile(file: TestFile, run: RunOptions, options: TestOptions): Promise<FileOutcome> {
  const paint = paletteFor(process.stdout);
  const shown = options.output === 'text';
  const write = (lines: readonly string[]) => process.stdout.write(`${lines.join('\n')}\n`);
  let headed = false;
  const outcome = await runFile(file, run, (one) => {
    if (!shown) return;
    if (!headed) write([paint.bold(sanitise(file.file))]);
    headed = true;
    write(testLines(one, sanitise(file.file), paint));
  });
  // With a part of the tests, what they do not reach says nothing.
  const whole = outcome.tests.length === file.tests.length;
  if (shown && whole) write([...coverageLines(outcome.coverage, options.coverage === true, paint), '']);
  else if (shown && outcome.tests.at(-1)?.passed === true) write(['']);
  return outcome;
}

function finish(outcomes: readonly FileOutcome[], { output, junit }: TestOptions): void {
  if (junit !== undefined) {
    try {
      writeFileSync(junit, junitXml(outcomes));
    } catch (error) {
      throw usageError(`The report could not be written: ${messageOf(error)}`);
    }
  }
  switch (output) {
    case 'json':
      return printJson(outcomes);
    case 'junit':
      return void process.stdout.write(junitXml(outcomes));
    case 'text':
      return void process.stdout.write(`${totalLine(outcomes, paletteFor(process.stdout))}\n`);
  }
}

function failures({ tests }: FileOutcome): number {
  return tests.filter(({ passed }) => !passed).length;
}

function runOptions({ filter, bail, seed, shuffle, real }: TestOptions): RunOptions {
  const kinds = (real ?? '')
    .split(',')
    .map((kind) => kind.trim())
    .filter((kind) => kind !== '');
  for (const kind of kinds) if (!isToolKind(kind)) throw usageError(`"${kind}" is not a kind of tool.`);
  const from = seed ?? 1;
  const orders = shuffle ? [undefined, ...Array.from({ length: SHUFFLED_ORDERS }, (_, index) => from + index)] : [seed];
  return { real: new Set(kinds), orders, bail: bail === true, ...(filter === undefined ? {} : { filter }) };
}

function load(paths: readonly string[]): { files: TestFile[]; problems: FileProblem[] } {
  const problems: FileProblem[] = [];
  const files: TestFile[] = [];
  for (const path of new Set(paths.flatMap(filesOf))) {
    const { loaded, problems: found } = loadTests(path);
    problems.push(...found);
    if (loaded === undefined) continue;
    if (loaded.tests.length > 0) files.push(loaded);
    else problems.push(noTests(path));
  }
  return { files, problems };
}

/** A named file must have tests; in a directory those files count that have some. */
function filesOf(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  const entries = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return entries
    .filter((name) => /\.ya?ml$/i.test(name) && !/(^|[\\/])(\.|node_modules)/.test(name))
    .map((name) => join(path, name))
    .filter(mayHaveTests);
}

function mayHaveTests(file: string): boolean {
  try {
    return /^tests:/m.test(readFileSync(file, 'utf8'));
  } catch {
    return true; // reading it as a playbook tells what is wrong with it
  }
}

function noTests(file: string): FileProblem {
  const hint = 'add `tests:`; docs/testing.md shows how';
  const place = { path: '', line: 1, column: 1 };
  return { file, severity: 'error', code: 'test.none', message: 'This playbook has no tests', hint, ...place };
}
