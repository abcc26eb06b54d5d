// `noetl catalog delete|restore PATH`: hides versions of a playbook, and brings them back. What runs goes on either way.
import { type ConnectionOptions, connect } from '../connection.js';
import { EXIT, type ExitCode } from '../errors.js';
import { printJson } from '../print-json.js';
import { sanitise, say } from '../terminal.js';

export interface ArchiveOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly version?: number;
}

export async function remove(path: string, options: ArchiveOptions): Promise<ExitCode> {
  const answer = await connect(options).catalogDelete({ path, ...versionOf(options) });
  return tell(answer, answer.deleted, options);
}

export async function restore(path: string, options: ArchiveOptions): Promise<ExitCode> {
  const answer = await connect(options).catalogRestore({ path, ...versionOf(options) });
  return tell(answer, answer.restored, options);
}

function versionOf({ version }: ArchiveOptions): { version?: number } {
  return version === undefined ? {} : { version };
}

function tell(
  answer: { message: string; path: string },
  changed: readonly { version: number }[],
  options: ArchiveOptions,
): ExitCode {
  if (options.json === true) printJson(answer);
  else for (const { version } of changed) process.stdout.write(`${sanitise(answer.path)}  version ${version}\n`);
  say(sanitise(answer.message));
  return EXIT.ok;
}
