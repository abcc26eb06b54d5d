// Real processes to kill: a server and workers as a user starts them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { shardSettings } from '../support/shards.js';

const CLI = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url));
const LEASE_SECONDS = '3';

export interface Process {
  /** The text that matched `ready`. */
  readonly ready: Promise<string>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

const running = new Set<Process>();
afterAll(async () => {
  await Promise.all([...running].map((process) => process.kill('SIGKILL')));
});

/** @param databases connection strings, one per shard */
export function startServerProcess(databases: string | readonly string[], port: number): Process {
  const env = { ...shardSettings(databases), NOETL_COMMAND_CLAIM_LEASE_SECONDS: LEASE_SECONDS };
  return run(['server', '--port', String(port)], env, /Serving (\S+)/);
}

export function startWorkerProcess(url: string, name: string): Process {
  return run(['worker', '--server', url, '--concurrency', '16', '--name', name], {}, /Working for (\S+)/);
}

function run(args: string[], env: Record<string, string>, ready: RegExp): Process {
  const child: ChildProcess = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, NOETL_LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const exited = once(child, 'exit');
  const isReady = new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk;
      const match = ready.exec(output);
      if (match?.[1] !== undefined) resolve(match[1]);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    void exited.then(() => reject(new Error(`noetl ${args.join(' ')} ended early:\n${output}`)));
  });
  isReady.catch(() => undefined);
  const started: Process = {
    ready: isReady,
    async kill(signal) {
      running.delete(started);
      child.kill(signal);
      await exited;
    },
  };
  running.add(started);
  return started;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
