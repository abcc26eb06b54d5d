// Where the embedded server and worker write their logs: a file in the data directory, because the terminal belongs to the
// step tree; or stderr, for processes that a supervisor watches.
import { chownSync, closeSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, redactLog } from '@noetl/core';
import { type Logger, type LoggerOptions, pino } from 'pino';

const LIMIT_BYTES = 16 * 1024 * 1024;

export function logFile(dataDir: string): string {
  return join(dataDir, 'noetl.log');
}

export function fileLogger(dataDir: string): Logger {
  const file = logFile(dataDir);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LIMIT_BYTES) renameSync(file, `${file}.1`);
  handToOwner(file, dataDir);
  // Synchronous: the last lines before a crash are the ones that matter.
  return pino(options(), pino.destination({ dest: file, mkdir: true, sync: true }));
}

/** A run with sudo must not leave a log behind that the owner of the folder can no longer write. */
function handToOwner(file: string, dataDir: string): void {
  if (process.getuid?.() !== 0) return;
  mkdirSync(dataDir, { recursive: true });
  const { uid, gid } = statSync(dataDir);
  closeSync(openSync(file, 'a', 0o644));
  chownSync(file, uid, gid);
}

export function stderrLogger(): Logger {
  return pino(options(), pino.destination({ dest: 2, sync: true }));
}

function options(): LoggerOptions {
  return {
    level: logLevel(),
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    formatters: { level: (label) => ({ level: label }), log: redactLog },
  };
}

function logLevel(): string {
  const wanted = process.env['NOETL_LOG_LEVEL'] ?? '';
  return wanted in pino.levels.values || wanted === 'silent' ? wanted : 'info';
}
