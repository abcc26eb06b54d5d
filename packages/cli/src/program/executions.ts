import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { atLeast, dataDir, examples, json, payload, payloadFile, server, timeout } from './options.js';

export function addExecutionCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('register')
    .argument('<file...>', 'playbooks in YAML')
    .description('Put playbooks into the catalog.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl register examples/*.yaml'))
    .action(async (files: string[], options) =>
      finish(await (await import('../commands/catalog.js')).register(files, options)),
    );

  program
    .command('exec')
    .argument('<path>', 'catalog path of a playbook')
    .description('Start a registered playbook; prints the execution id.')
    .addOption(payload())
    .addOption(payloadFile())
    .addOption(new Option('--revision <n>', 'catalog version (default: the newest)').argParser(atLeast(1)))
    .option('--wait', 'follow it to its end, as run does')
    .addOption(timeout())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples('noetl exec examples/hello_world', 'noetl exec examples/branching --payload amount=5 --wait'),
    )
    .action(async (path: string, options) =>
      finish(await (await import('../commands/executions.js')).exec(path, options)),
    );

  program
    .command('list')
    .argument('[what]', 'executions or playbooks', 'executions')
    .description('List executions, newest first, or the playbooks of the catalog.')
    .addOption(new Option('--limit <n>', 'at most this many').default(20).argParser(atLeast(1)))
    .option('--status <status>', 'only executions in this status')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl list', 'noetl list --status failed', 'noetl list playbooks'))
    .action(async (what: string, options) =>
      finish(await (await import('../commands/executions.js')).list(what, options)),
    );

  program
    .command('status')
    .argument('<id>', 'execution id')
    .description('Show where an execution is and, while it runs, what it waits for.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl status 312047190466560000', 'noetl status 312047190466560000 --json'))
    .action(async (id: string, options) =>
      finish(await (await import('../commands/executions.js')).status(id, options)),
    );

  program
    .command('events')
    .argument('<id>', 'execution id')
    .description('Print the event log of an execution.')
    .option('-f, --follow', 'go on as events arrive, until the execution ends')
    .addOption(new Option('--page <n>', 'page to show').default(1).argParser(atLeast(1)))
    .addOption(new Option('--page-size <n>', 'events on a page').default(500).argParser(atLeast(1)))
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples('noetl events 312047190466560000', 'noetl events 312047190466560000 --follow --json'),
    )
    .action(async (id: string, options) =>
      finish(await (await import('../commands/executions.js')).events(id, options)),
    );

  program
    .command('cancel')
    .argument('<id>', 'execution id')
    .description('Cancel an execution and what it started.')
    .option('--reason <text>', 'kept in the log')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl cancel 312047190466560000 --reason "wrong input"'))
    .action(async (id: string, options) =>
      finish(await (await import('../commands/executions.js')).cancel(id, options)),
    );
}
