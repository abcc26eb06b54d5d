// Runs one child process in a process group of its own. When this function resolves nothing of that group is left
// running: a time-out, an abort and a plain exit all end with the group being killed. The environment is an
// allow-list, because the worker's own holds tokens that a playbook must not read.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { captureStream } from './capture.js';
import { ToolError } from './errors.js';

export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Declared by the author; added to the allow-listed part of the worker's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly source: string;
  /** When set, fd 3 of the child is a pipe and what it writes there (up to this many bytes) comes back as `channel`. */
  readonly channelLimitBytes?: number;
}

export interface ProcessOutcome {
  readonly ending: 'exit' | 'timeout' | 'abort';
  readonly exitCode: number | null;
  readonly killedBy: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly channel?: { readonly text: string; readonly complete: boolean };
  readonly durationMs: number;
}

export const OUTPUT_LIMIT_BYTES = 1024 * 1024;

const INHERITED = ['PATH', 'HOME', 'LANG', 'TMPDIR'];
const TERM_TO_KILL_MS = 5_000;
/** How long a finished process's background children may keep its pipes open before they are told to end. */
const PIPE_GRACE_MS = 200;
const LEFTOVER_GRACE_MS = 500;

export async function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  request.signal.throwIfAborted();
  const startedAt = performance.now();
  const child = await spawned(request);
  const stdout = captureStream(readable(child, 1), OUTPUT_LIMIT_BYTES);
  const stderr = captureStream(readable(child, 2), OUTPUT_LIMIT_BYTES);
  const limit = request.channelLimitBytes;
  const channel = limit === undefined ? undefined : captureStream(readable(child, 3), limit);
  writeInput(child, request.stdin);

  const exited = new Promise<{ code: number | null; by: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, by) => resolve({ code, by }));
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));

  let ending: ProcessOutcome['ending'] = 'exit';
  let killTimer: NodeJS.Timeout | undefined;
  const end = (why: 'timeout' | 'abort'): void => {
    if (ending !== 'exit') return;
    ending = why;
    signalGroup(child, 'SIGTERM');
    killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), TERM_TO_KILL_MS);
  };
  const onAbort = (): void => end('abort');
  const timer = setTimeout(() => end('timeout'), request.timeoutMs);
  request.signal.addEventListener('abort', onAbort, { once: true });
  if (request.signal.aborted) onAbort();

  const { code, by } = await exited;
  clearTimeout(timer);
  clearTimeout(killTimer);
  request.signal.removeEventListener('abort', onAbort);
  await endLeftovers(child, closed);

  return {
    ending,
    exitCode: code,
    killedBy: by,
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.truncated() || stderr.truncated(),
    ...(channel === undefined ? {} : { channel: { text: channel.text(), complete: !channel.truncated() } }),
    durationMs: Math.round(performance.now() - startedAt),
  };
}

async function spawned(request: ProcessRequest): Promise<ChildProcess> {
  const env: NodeJS.ProcessEnv = {};
  for (const name of INHERITED) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  const fail = (error: unknown): ToolError => {
    const detail = error instanceof Error ? error.message : String(error);
    return new ToolError(
      `Process error: cannot start ${request.file}: ${detail}`,
      { kind: 'process', retryable: false, code: 'SPAWN_FAILED', source: request.source },
      { cause: error },
    );
  };
  try {
    const child = spawn(request.file, request.args, {
      cwd: request.cwd,
      env: { ...env, ...request.env },
      detached: true,
      stdio: request.channelLimitBytes === undefined ? ['pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    // After a successful spawn the only errors left are failed kills, which signalGroup handles itself.
    child.on('error', () => undefined);
    return child;
  } catch (error) {
    throw fail(error);
  }
}

function readable(child: ChildProcess, fd: 1 | 2 | 3): Readable {
  const stream = child.stdio[fd];
  if (stream === null || stream === undefined || !('read' in stream)) throw new Error(`fd ${fd} is not a pipe`);
  return stream as Readable;
}

function writeInput(child: ChildProcess, text: string | undefined): void {
  const stdin: Writable | null = child.stdin;
  // A process that ends without reading its input closes the pipe; that is its right.
  stdin?.on('error', () => undefined);
  stdin?.end(text ?? '');
}

/** False when no process of the group is left. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  try {
    process.kill(-child.pid, signal);
    return true;
  } catch {
    return false;
  }
}

async function endLeftovers(child: ChildProcess, closed: Promise<void>): Promise<void> {
  const stop = new AbortController();
  await Promise.race([closed, delay(PIPE_GRACE_MS, undefined, { signal: stop.signal }).catch(() => undefined)]);
  stop.abort();
  if (signalGroup(child, 'SIGTERM')) {
    const deadline = performance.now() + LEFTOVER_GRACE_MS;
    while (signalGroup(child, 0) && performance.now() < deadline) await delay(10);
    signalGroup(child, 'SIGKILL');
  }
  // A daemon that left the group may still hold our pipes; it no longer has a reader.
  for (const stream of child.stdio) stream?.destroy();
}
