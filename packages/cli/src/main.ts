#!/usr/bin/env node
// Entry point: builds the command tree, runs one command, ends with its exit code.
import { CommanderError } from 'commander';
import { EXIT } from './errors.js';
import { explainFailure } from './failure.js';
import { buildProgram } from './program.js';
import { paletteFor, say } from './terminal.js';
import { VERSION } from './version.js';

// A reader that has seen enough (`noetl events … | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

const program = buildProgram(VERSION, (code) => {
  process.exitCode = code;
});
program.exitOverride();
for (const command of program.commands) {
  command.exitOverride();
  for (const nested of command.commands) nested.exitOverride();
}

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed its message already.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    const { code, message, hint, stack } = explainFailure(error);
    const paint = paletteFor(process.stderr);
    say(`${paint.red('error')}: ${message}`);
    if (hint !== undefined) say(`       ${hint}`);
    if (stack !== undefined) say(paint.dim(stack));
    process.exitCode = code;
  }
}
