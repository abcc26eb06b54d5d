// A real nats-server with JetStream for tests: a folder and a port of its own, gone when the file ends. It can be killed and come back on
// the same port, with what it had stored or with nothing.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { requireProgram } from './debian.js';

export interface TestNats {
  readonly url: string;
  readonly port: number;
  /** It stays where it is and does nothing any more, until it is killed or restarted. */
  freeze(): Promise<void>;
  /** kill -9; what it had acknowledged is on disk. */
  kill(): Promise<void>;
  /** Starts it again on the same port. `emptied`: JetStream's data is deleted first. */
  restart(options?: { emptied?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

/** Every thread has obeyed a SIGSTOP. */
function isStopped(pid: number | undefined): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.every((id) => /^\d+ \(.*\) T/s.test(readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8')));
}

const running = new Set<TestNats>();
afterAll(async () => {
  await Promise.all([...running].map((nats) => nats.stop()));
});

export interface TestNatsOptions {
  /** Only who knows these is let in; they are part of `url`. */
  readonly login?: { readonly user: string; readonly password: string };
}

export async function startTestNats({ login }: TestNatsOptions = {}): Promise<TestNats> {
  const binary = requireProgram('nats-server');
  const store = mkdtempSync(join(tmpdir(), 'noetl-nats-'));
  const port = await freePort();
  let child: ChildProcess | undefined;

  const start = async () => {
    const credentials = login === undefined ? [] : ['--user', login.user, '--pass', login.password];
    const args = ['-js', '-sd', store, '-a', '127.0.0.1', '-p', String(port), ...credentials];
    child = spawn(binary, args, { stdio: 'ignore' });
    await answers(child, port);
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    ending.kill(signal);
    await exited;
  };
  const nats: TestNats = {
    url: `nats://${login === undefined ? '' : `${login.user}:${login.password}@`}127.0.0.1:${port}`,
    port,
    async freeze() {
      child?.kill('SIGSTOP');
      // The signal is sent, not yet obeyed: a thread may still answer.
      while (!isStopped(child?.pid)) await setImmediate();
    },
    kill: () => end('SIGKILL'),
    async restart({ emptied = false } = {}) {
      await end('SIGKILL');
      if (emptied) rmSync(join(store, 'jetstream'), { recursive: true, force: true });
      await start();
    },
    async stop() {
      running.delete(nats);
      child?.kill('SIGCONT');
      await end('SIGTERM');
      rmSync(store, { recursive: true, force: true });
    },
  };
  running.add(nats);
  await start();
  return nats;
}

/** Resolves when something on this port speaks NATS: its first line is `INFO {…}`. */
async function answers(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`nats-server ended at once (port ${port})`);
    const socket = dial(port, '127.0.0.1');
    const spoke = await new Promise<boolean>((resolve) => {
      socket.once('data', (bytes) => resolve(bytes.toString().startsWith('INFO ')));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (spoke) return;
    await delay(20);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
