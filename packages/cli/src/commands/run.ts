// `noetl run FILE`: validate, start what is missing, register, execute, follow, print. Nothing is started for a playbook
// that does not validate.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { NoetlClient } from '@noetl/client';
import { checkPlaybook, formatDiagnostic, type Playbook } from '@noetl/core';
import { connectTo, namedServer } from '../connection.js';
import { parseDuration } from '../duration.js';
import { codeOf, EXIT, type ExitCode, messageOf, usageError } from '../errors.js';
import { followExecution } from '../follow.js';
import { buildPayload } from '../payload.js';
import { reportOutcome } from '../report.js';
import { catchInterrupt, whenAborted } from '../signals.js';
import { fileLogger } from '../stack/logger.js';
import { brokenError, heldServer, type Stack, startStack } from '../stack/start.js';
import { paletteFor, say } from '../terminal.js';
import { openTreeView } from '../tree/view.js';
import { sayWhere } from './up.js';

export interface RunOptions {
  readonly payload: readonly string[];
  readonly payloadFile?: string;
  readonly json?: boolean;
  readonly timeout?: string;
  readonly keep?: boolean;
  readonly dataDir: string;
  readonly server?: string;
}

export async function run(file: string, options: RunOptions): Promise<ExitCode> {
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  const payload = buildPayload(options.payload, options.payloadFile);
  const content = readPlaybook(file);
  const playbook = readModel(file, content);
  if (playbook === undefined) return EXIT.usage;

  const names = playbook.steps.map(({ name }) => name);
  let stack: Stack | undefined;
  const interrupt = catchInterrupt(() => stack?.abandon());
  try {
    const remote = namedServer(options) ?? (await heldServer(options.dataDir));
    if (remote === undefined) stack = await startOwnStack(options.dataDir);
    if (interrupt.signal.aborted) return EXIT.cancelled;
    const client = connectTo(remote ?? stack?.url ?? '');
    const code = await runOn(
      client,
      content,
      { ...options, payload, timeoutMs, names, interrupt: interrupt.signal },
      stack,
    );
    if (options.keep === true && stack !== undefined && !interrupt.signal.aborted) {
      sayWhere(stack, resolve(options.dataDir));
      await Promise.race([whenAborted(interrupt.signal), stack.broken]);
    }
    return code;
  } finally {
    await stack?.stop();
    interrupt.dispose();
  }
}

interface RunRequest extends Pick<RunOptions, 'json' | 'dataDir'> {
  readonly payload: ReturnType<typeof buildPayload>;
  readonly timeoutMs: number | undefined;
  /** Of the steps. */
  readonly names: readonly string[];
  readonly interrupt: AbortSignal;
}

async function runOn(client: NoetlClient, content: string, request: RunRequest, stack?: Stack): Promise<ExitCode> {
  const { path, version } = await client.register(content);
  const { execution_id } = await client.execute({ path, version, payload: request.payload });
  const followed = followExecution({
    client,
    executionId: execution_id,
    path,
    view: openTreeView(process.stderr, paletteFor(process.stderr), request.names),
    timeoutMs: request.timeoutMs,
    interrupt: request.interrupt,
  });
  const broken = stack?.broken.then((reason) => Promise.reject(brokenError(reason, request.dataDir)));
  const outcome = await (broken === undefined ? followed : Promise.race([followed, broken]));
  return reportOutcome(client, outcome, request.json === true);
}

function startOwnStack(dataDir: string): Promise<Stack> {
  const paint = paletteFor(process.stderr);
  return startStack({
    dataDir,
    host: '127.0.0.1',
    port: 0,
    workers: 1,
    concurrency: 8,
    // Our own execution is over by then: whatever still runs belongs to an earlier one and can wait for the next start.
    drainMs: 1_000,
    insecure: false,
    log: fileLogger(dataDir),
    progress: (line) => say(paint.dim(`${line}…`)),
  });
}

function readPlaybook(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const reason = codeOf(error) === 'ENOENT' ? 'there is no such file' : messageOf(error);
    throw usageError(`Cannot read ${file}: ${reason}.`, 'Give the path of a playbook, e.g. examples/hello_world.yaml.');
  }
}

/** Says everything that is wrong at once. Warnings do not stop a run. */
function readModel(file: string, content: string): Playbook | undefined {
  const { playbook, diagnostics } = checkPlaybook(content);
  for (const diagnostic of diagnostics) say(formatDiagnostic(diagnostic, file));
  return playbook;
}
