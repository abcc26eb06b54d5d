// `noetl export` and `noetl import`: the log of an execution as a file, from one installation to another.
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ConnectionOptions, connect } from '../connection.js';
import { CliError, codeOf, EXIT, type ExitCode, messageOf } from '../errors.js';
import { checkId } from '../execution-id.js';
import { printJson } from '../print-json.js';
import { say } from '../terminal.js';

export interface ExportOptions extends ConnectionOptions {
  readonly output?: string;
}

export async function exportLog(id: string, options: ExportOptions): Promise<ExitCode> {
  const chunks = Readable.from(await connect(options).exportLog(checkId(id)));
  if (options.output === undefined || options.output === '-') {
    await pipeline(chunks, process.stdout, { end: false });
    return EXIT.ok;
  }
  // Under its name only once it is whole.
  const partial = `${options.output}.part`;
  try {
    await pipeline(chunks, createWriteStream(partial, { mode: 0o600 }));
    await rename(partial, options.output);
  } catch (error) {
    await rm(partial, { force: true });
    throw codeOf(error) === undefined ? error : new CliError(`The log was not written: ${messageOf(error)}`);
  }
  say(`Wrote ${options.output}. It holds everything the log holds, also what is masked elsewhere.`);
  return EXIT.ok;
}

export interface ImportOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export async function importLog(file: string, options: ImportOptions): Promise<ExitCode> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  // A file that cannot be opened is told as such, before anybody is asked to take it.
  if (file !== '-') await opened(input as ReturnType<typeof createReadStream>, file);
  const answer = await connect(options).importLog(input);
  if (options.json === true) printJson(answer);
  else if (answer.status === 'duplicate') process.stdout.write(`${answer.execution_id} was here already.\n`);
  else process.stdout.write(`${answer.execution_id}, ${answer.events} events.\n`);
  return EXIT.ok;
}

async function opened(input: ReturnType<typeof createReadStream>, file: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    input.once('open', () => resolve());
    input.once('error', (error) =>
      reject(new CliError(`Cannot read ${file}: ${messageOf(error)}`, { exitCode: EXIT.usage })),
    );
  });
}
