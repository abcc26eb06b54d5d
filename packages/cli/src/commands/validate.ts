// `noetl validate PATH…`: every problem of every playbook, without a server. Directories are walked for what looks like a playbook;
// a file that is named is checked whatever it looks like. Problems are the data, so they go to stdout.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkDocument, type Diagnostic, formatDiagnostic } from '@noetl/core';
import { EXIT, type ExitCode, messageOf } from '../errors.js';
import { printJson } from '../print-json.js';
import { sanitise, say } from '../terminal.js';

export type ValidateFormat = 'text' | 'github' | 'json';

export interface Problem extends Diagnostic {
  readonly file: string;
}

export interface Validated {
  readonly playbooks: number;
  /** In the order of the arguments, then of the files, then of the lines. */
  readonly problems: readonly Problem[];
}

export async function validate(paths: readonly string[], options: { output: ValidateFormat }): Promise<ExitCode> {
  const { playbooks, problems } = validatePaths(paths);
  if (options.output === 'json') printJson(problems);
  else for (const problem of problems) process.stdout.write(`${formatProblem(problem, options.output)}\n`);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const counts: [number, string][] = [
    [playbooks, 'playbook'],
    [errors, 'error'],
    [problems.length - errors, 'warning'],
  ];
  say(counts.map(([count, word]) => `${count} ${word}${count === 1 ? '' : 's'}`).join(', '));
  return errors > 0 ? EXIT.usage : EXIT.ok;
}

export function validatePaths(paths: readonly string[]): Validated {
  const problems: Problem[] = [];
  // The same file, named twice or found again below a directory, is checked once.
  const checked = new Set<string>();
  const check = (file: string, text: string): void => {
    if (checked.has(file)) return;
    checked.add(file);
    for (const diagnostic of checkDocument(text).diagnostics) problems.push({ file, ...diagnostic });
  };
  /** One file that cannot be read does not hide the problems of the others. */
  const attempt = <T>(file: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      problems.push(trouble(file, 'file.unreadable', messageOf(error)));
      return undefined;
    }
  };
  /** How many playbooks it found. */
  const walk = (folder: string): number => {
    const entries = attempt(folder, () => readdirSync(folder, { withFileTypes: true })) ?? [];
    let found = 0;
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      // Links to directories are not followed: they may go in circles.
      if (entry.isDirectory()) found += isHidden(entry.name) ? 0 : walk(path);
      else if (isYaml(entry.name) && (entry.isFile() || entry.isSymbolicLink())) {
        const text = attempt(path, () => readFileSync(path, 'utf8'));
        if (text === undefined || !looksLikePlaybook(text)) continue;
        found++;
        check(path, text);
      }
    }
    return found;
  };
  for (const path of paths) {
    const file = path === '-' ? '<stdin>' : join(path);
    attempt(file, () => {
      if (path === '-' || !statSync(path).isDirectory()) check(file, readFileSync(path === '-' ? 0 : path, 'utf8'));
      // A typo in a pipeline must not look like success.
      else if (walk(file) === 0) problems.push(trouble(file, 'file.no-playbook', 'No playbook in this directory'));
    });
  }
  return { playbooks: checked.size, problems };
}

const isHidden = (name: string): boolean => name.startsWith('.') || name === 'node_modules';
const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);

/** Either of the two lines is enough: a playbook that lacks the other one is a problem to tell. */
function looksLikePlaybook(text: string): boolean {
  return /^(apiVersion:\s*["']?noetl\.io\/|kind:\s*["']?(playbook|agent|subscription)["']?\s*(#.*)?$)/im.test(text);
}

function trouble(file: string, code: string, message: string): Problem {
  return { file, severity: 'error', code, message, path: '', line: 1, column: 1 };
}

function formatProblem(problem: Problem, format: 'text' | 'github'): string {
  if (format === 'text') return sanitise(formatDiagnostic(problem, problem.file));
  const { file, line, column, code, severity, message, hint } = problem;
  const place = `file=${property(file)},line=${line},col=${column},title=${property(code)}`;
  return `::${severity} ${place}::${data(hint === undefined ? message : `${message}\n${hint}`)}`;
}

/** A workflow command is one line; these characters would end it, or end a property, and could start another command. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
