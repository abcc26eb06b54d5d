// What benchmarks run against: a PostgreSQL of their own with its durable settings on, a server process and a worker process.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../packages/cli/dist/index.js';

const CLI = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url));

export async function startPostgres() {
  const dataDir = mkdtempSync(join(tmpdir(), 'noetl-bench-'));
  chmodSync(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  return {
    url: postgres.url,
    async stop() {
      await postgres.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** `profile`: write a CPU profile of the process into this folder. */
export function startProcess(args, { env = {}, ready, profile } = {}) {
  const nodeArgs = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`, '--cpu-prof-interval=500'];
  const child = spawn(process.execPath, [...nodeArgs, CLI, ...args], {
    env: { ...process.env, NOETL_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const started = new Promise((resolve, reject) => {
    const read = (chunk) => {
      output += chunk;
      const match = ready?.exec(output);
      if (match) resolve(match);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', (code) => reject(new Error(`noetl ${args.join(' ')} ended with ${code}:\n${output}`)));
    if (ready === undefined) resolve(undefined);
  });
  started.catch(() => undefined);
  const exited = new Promise((resolve) => child.on('exit', resolve));
  return {
    started,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
