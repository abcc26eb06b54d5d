// Turns whatever a command threw into the line a person reads and the exit code a script reads.
import { CliError, codeOf, EXIT, type ExitCode, messageOf } from './errors.js';

export interface Failure {
  readonly code: ExitCode;
  readonly message: string;
  readonly hint?: string;
  /** Only for bugs: everything else is explained by its message. */
  readonly stack?: string;
}

/** Errors of the client are recognised by their shape, so that commands without a server need not load it. */
export function explainFailure(error: unknown): Failure {
  if (error instanceof CliError) {
    return { code: error.exitCode, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) };
  }
  if (!(error instanceof Error)) return { code: EXIT.error, message: String(error) };
  if (error.name === 'UnreachableError') {
    return {
      code: EXIT.unreachable,
      message: error.message,
      hint: 'Is it running? Start one with `noetl up`, or name it with --server.',
    };
  }
  if (error.name === 'ConfigError') return { code: EXIT.usage, message: error.message };
  if ('status' in error && typeof error.status === 'number') return explainStatus(error.status, error);
  const code = codeOf(error);
  if (code === 'EADDRINUSE')
    return { code: EXIT.error, message: 'The port is already in use.', hint: 'Choose another one with --port.' };
  if (code !== undefined) return { code: EXIT.error, message: messageOf(error) };
  return { code: EXIT.error, message: messageOf(error), ...(error.stack === undefined ? {} : { stack: error.stack }) };
}

function explainStatus(status: number, error: Error): Failure {
  const { message } = error;
  switch (status) {
    case 401:
      return { code: EXIT.unauthorised, message, hint: 'Set NOETL_API_TOKEN to a token this server accepts.' };
    case 403:
      return { code: EXIT.unauthorised, message, hint: 'The token in NOETL_API_TOKEN does not allow this.' };
    case 400:
    case 422:
      return { code: EXIT.usage, message };
    default:
      return { code: EXIT.error, message };
  }
}
