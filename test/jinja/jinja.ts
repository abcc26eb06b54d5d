// Debian's Jinja2 in one long-lived python process: requests go in as JSON lines, answers come back by id.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Outcome } from './compare.js';

const PYTHON = '/usr/bin/python3';
const ORACLE = fileURLToPath(new URL('./oracle.py', import.meta.url));

export interface Question {
  /** A lone expression is asked for its native value, a template for its text. */
  readonly expression?: string;
  readonly template?: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** Documented differences that Jinja2 is to imitate. */
  readonly dialect?: readonly string[];
}

export interface Jinja {
  ask(questions: readonly Question[]): Promise<Outcome[]>;
  stop(): Promise<void>;
}

/** A machine without it fails the test, so the comparison is never skipped. */
export function requireJinja(): void {
  if (!hasJinja()) throw new Error('Jinja2 is missing: install it with `apt-get install python3-jinja2`');
}

function hasJinja(): boolean {
  return spawnSync(PYTHON, ['-c', 'import jinja2']).status === 0;
}

export function startJinja(): Jinja {
  // A fixed hash seed for a repeatable order of sets, no byte code in the source tree, no warnings about odd templates.
  const env = { PYTHONHASHSEED: '0', PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' };
  const child = spawn(PYTHON, [ORACLE], { stdio: ['pipe', 'pipe', 'inherit'], env });
  const waiting = new Map<number, (outcome: Outcome) => void>();
  const exited = once(child, 'exit');
  let next = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, ...outcome } = JSON.parse(line) as { id: number } & Outcome;
    waiting.get(id)?.(outcome);
    waiting.delete(id);
  });
  child.on('exit', () => {
    for (const settle of waiting.values()) settle({ ok: false, error: 'the python process has ended' });
    waiting.clear();
  });
  return {
    ask: (questions) =>
      Promise.all(
        questions.map((question) => {
          const id = next++;
          const answered = new Promise<Outcome>((resolve) => waiting.set(id, resolve));
          child.stdin.write(`${JSON.stringify({ id, ...question })}\n`);
          return answered;
        }),
      ),
    stop: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
