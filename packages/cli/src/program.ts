// The command tree: names, options, help. What a command does lives in commands/, loaded only when it runs, so that `status` does
// not pay for a server it never starts.
import { Command } from 'commander';
import type { ExitCode } from './errors.js';
import { addAdminCommands } from './program/admin.js';
import { addCatalogCommands } from './program/catalog.js';
import { addDatabaseCommands } from './program/database.js';
import { addExecutionCommands } from './program/executions.js';
import { addOperationsCommands } from './program/operations.js';
import { addRepairCommands } from './program/repair.js';
import { addReplayCommands } from './program/replay.js';
import { addStartCommands } from './program/start.js';
import { addSubscriptionCommands } from './program/subscriptions.js';
import { addTestCommands } from './program/testing.js';

export function buildProgram(version: string, finish: (code: ExitCode) => void): Command {
  const program = new Command('noetl')
    .description('Run playbooks, and everything they need.')
    .version(version, '-V, --version')
    // `catalog delete --version 2` is an option of the command, not a question about this program.
    .enablePositionalOptions()
    .showHelpAfterError('(--help shows what is possible)')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .addHelpText('after', EXAMPLES_ROOT);

  addStartCommands(program, finish);
  addExecutionCommands(program, finish);
  addRepairCommands(program, finish);
  addCatalogCommands(program, finish);
  addTestCommands(program, finish);
  addSubscriptionCommands(program, finish);
  addDatabaseCommands(program, finish);
  addReplayCommands(program, finish);
  addOperationsCommands(program, addAdminCommands(program, finish), finish);
  return program;
}

const EXAMPLES_ROOT = `
Examples:
  noetl run examples/hello_world.yaml          run a playbook, start what is needed
  noetl run hello.yaml --payload name=Ada      with an input
  noetl up                                     server, worker and database until Ctrl-C
  noetl exec samples/greet --wait              run a registered playbook, follow it
  noetl events 312047190466560000 --follow     watch an execution

Exit codes: 0 ok, 1 error, 2 usage or validation, 3 FAILED, 4 cancelled, 5 timeout, 6 unreachable, 7 unauthorised.
Environment: NOETL_SERVER_URL, NOETL_API_TOKEN, DATABASE_URL or POSTGRES_*, NOETL_LOG_LEVEL, NO_COLOR.`;
