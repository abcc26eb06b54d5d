// Where the embedded server and worker write their logs: a file in the data directory, because the terminal belongs to the
// step tree; or stderr, for processes that a supervisor watches.
import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';

const LIMIT_BYTES = 16 * 1024 * 1024;

export function logFile(dataDir: string): string {
  return join(dataDir, 'noetl.log');
}

export function fileLogger(dataDir: string): Logger {
  const file = logFile(dataDir);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LIMIT_BYTES) renameSync(file, `${file}.1`);
  // Synchronous: the last lines before a crash are the ones that matter.
  return pino({ level: logLevel() }, pino.destination({ dest: file, mkdir: true, sync: true }));
}

export function stderrLogger(): Logger {
  return pino({ level: logLevel() }, pino.destination({ dest: 2, sync: true }));
}

function logLevel(): string {
  const wanted = process.env['NOETL_LOG_LEVEL'] ?? '';
  return wanted in pino.levels.values || wanted === 'silent' ? wanted : 'info';
}
