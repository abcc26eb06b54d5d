// `noetl up`: the whole product in one process, until Ctrl-C.
import { relative, resolve } from 'node:path';
import { EXIT, type ExitCode } from '../errors.js';
import { catchInterrupt, whenAborted } from '../signals.js';
import { withoutPassword } from '../stack/database.js';
import { fileLogger, logFile, stderrLogger } from '../stack/logger.js';
import { brokenError, type Stack, startStack } from '../stack/start.js';
import { paletteFor, say } from '../terminal.js';

export interface UpOptions {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly workers: number;
  /** False after `--no-worker`. */
  readonly worker: boolean;
  readonly concurrency: number;
  readonly insecure?: boolean;
  readonly verbose?: boolean;
}

export async function up(options: UpOptions): Promise<ExitCode> {
  const dataDir = resolve(options.dataDir);
  const paint = paletteFor(process.stderr);
  let stack: Stack | undefined;
  const interrupt = catchInterrupt(() => stack?.abandon());
  try {
    stack = await startStack({
      dataDir,
      host: options.host,
      port: options.port,
      workers: options.worker ? options.workers : 0,
      concurrency: options.concurrency,
      drainMs: 30_000,
      insecure: options.insecure === true,
      log: options.verbose === true ? stderrLogger() : fileLogger(dataDir),
      progress: (line) => say(paint.dim(`${line}…`)),
    });
    sayWhere(stack, dataDir);
    const broken = await Promise.race([whenAborted(interrupt.signal), stack.broken]);
    if (typeof broken === 'string') throw brokenError(broken, dataDir);
    say(paint.dim('Stopping… (Ctrl-C again to force)'));
    return EXIT.ok;
  } finally {
    await stack?.stop();
    interrupt.dispose();
  }
}

export function sayWhere(stack: Stack, dataDir: string): void {
  const paint = paletteFor(process.stderr);
  const rows: [string, string][] = [
    ['API', stack.url],
    ['Health', `${stack.url}/api/health`],
    [
      'Database',
      stack.embeddedDatabase
        ? `${withoutPassword(stack.databaseUrl)}  (noetl db psql)`
        : withoutPassword(stack.databaseUrl),
    ],
    ['Logs', shortest(logFile(dataDir))],
  ];
  say(`\n${paint.green('noetl is ready')}\n`);
  for (const [name, value] of rows) say(`  ${paint.dim(name.padEnd(9))} ${value}`);
  say(`\n${paint.dim('Ctrl-C stops it.')}`);
}

function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
