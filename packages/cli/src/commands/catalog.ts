// `noetl register FILE…`: puts playbooks into the catalog. Every file is tried; the worst outcome is the exit code.
import { readFileSync } from 'node:fs';
import { ApiError, type RegisterResponse, type WireDiagnostic } from '@noetl/client';
import { formatDiagnostic, isObject } from '@noetl/core';
import { type ConnectionOptions, connect } from '../connection.js';
import { EXIT, type ExitCode, messageOf } from '../errors.js';
import { printJson } from '../print-json.js';
import { paletteFor, say } from '../terminal.js';

export interface RegisterOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export async function register(files: readonly string[], options: RegisterOptions): Promise<ExitCode> {
  const client = connect(options);
  const paint = paletteFor(process.stderr);
  const registered: RegisterResponse[] = [];
  let code: ExitCode = EXIT.ok;
  for (const file of files) {
    let content: string;
    try {
      content = readFileSync(file, 'utf8');
    } catch (error) {
      say(`${file}: ${messageOf(error)}`);
      code = EXIT.usage;
      continue;
    }
    try {
      const answer = await client.register(content);
      registered.push(answer);
      for (const warning of answer.warnings ?? []) say(formatDiagnostic(warning, file));
      if (options.json !== true) process.stdout.write(`${answer.path}  version ${answer.version}\n`);
    } catch (error) {
      const problems = diagnosticsOf(error);
      if (problems === undefined) throw error;
      for (const problem of problems) say(formatDiagnostic(problem, file));
      code = EXIT.usage;
    }
  }
  // One file, one document: the server's answer as it is.
  if (options.json === true) printJson(files.length === 1 ? (registered[0] ?? null) : registered);
  if (files.length > 1) say(paint.dim(`${registered.length} registered, ${files.length - registered.length} refused`));
  return code;
}

/** Present in a 422 answer only. */
function diagnosticsOf(error: unknown): WireDiagnostic[] | undefined {
  if (!(error instanceof ApiError) || !isObject(error.body)) return undefined;
  const found = error.body['diagnostics'];
  if (!Array.isArray(found)) return undefined;
  return found.flatMap((entry) => {
    if (!isObject(entry)) return [];
    const { severity, code, message, hint, path, line, column } = entry;
    return [
      {
        severity: severity === 'warning' ? ('warning' as const) : ('error' as const),
        code: String(code),
        message: String(message),
        ...(typeof hint === 'string' ? { hint } : {}),
        path: String(path ?? ''),
        line: Number(line ?? 1),
        column: Number(column ?? 1),
      },
    ];
  });
}
