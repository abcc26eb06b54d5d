// A database that does not answer is the most common reason why a server does not start: it gets a line of its own.
import { CliError, codeOf, EXIT, messageOf } from '../errors.js';
import { withoutPassword } from './database.js';

const NO_DATABASE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT']);

/** The error to show instead, when that is what happened. */
export function asUnreachable(error: unknown, url: string): unknown {
  if (!NO_DATABASE.has(codeOf(error) ?? '')) return error;
  return new CliError(`Cannot reach the database ${withoutPassword(url)}: ${messageOf(error)}`, {
    exitCode: EXIT.unreachable,
    hint: 'Check DATABASE_URL or POSTGRES_*. Without them noetl brings its own database.',
    cause: error,
  });
}
