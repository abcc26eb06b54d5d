import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { atLeast, dataDir, examples, json, payload, payloadFile, server, timeout } from './options.js';

export function addRepairCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('signal')
    .argument('<id>', 'execution id')
    .argument('<name>', 'name of the signal')
    .description('Tell a running execution that something has happened; the step that waits for it goes on.')
    .addOption(payload())
    .addOption(payloadFile())
    .option('--key <text>', 'the same signal with the same key is sent once')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl signal 312047190466560000 approve --payload approved=true'))
    .action(async (id: string, name: string, options) =>
      finish(await (await import('../commands/repair.js')).signal(id, name, options)),
    );

  program
    .command('rerun')
    .argument('<id>', 'execution id')
    .description('Run an execution again: as a whole, or as a fork that keeps what is done.')
    .option('--from-failure', 'only what failed, and what follows')
    .option('--from-step <step>', 'this step, and what follows')
    .option('--from-event <event>', 'everything after this event')
    .addOption(payload())
    .addOption(payloadFile())
    .option('--wait', 'follow the new execution to its end')
    .addOption(timeout())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples(
        'noetl rerun 312047190466560000 --from-failure --wait',
        'noetl rerun 312047190466560000 --from-step load --payload table=orders',
        'noetl rerun 312047190466560000',
      ),
    )
    .action(async (id: string, options) => finish(await (await import('../commands/repair.js')).rerun(id, options)));

  const bulk = program
    .command('bulk')
    .description('Cancel or rerun many executions at once; the server does it in the background.')
    .addHelpText(
      'after',
      examples(
        'noetl bulk cancel --path "team/import*" --dry-run',
        'noetl bulk rerun --path team/import --from-failure --started-after 2030-01-31T00:00:00Z',
        'noetl bulk status',
      ),
    );
  const filters = (command: Command) =>
    command
      .option('--path <path>', 'executions of this playbook (a prefix when it ends with *)')
      .option('--status <status>', 'in this status')
      .option('--started-after <time>', 'started at or after this time')
      .option('--started-before <time>', 'started before this time')
      .option('--parent <id>', 'started by this execution')
      .addOption(new Option('--limit <n>', 'refuse when more match').default(10_000).argParser(atLeast(1)))
      .option('--dry-run', 'only say how many')
      .option('--no-wait', 'do not wait for the end')
      .addOption(json())
      .addOption(server())
      .addOption(dataDir());
  filters(bulk.command('cancel').description('Cancel every execution that matches.'))
    .option('--reason <text>', 'kept in the logs')
    .addHelpText('after', examples('noetl bulk cancel --path "team/*" --reason maintenance'))
    .action(async (options) => finish(await (await import('../commands/bulk.js')).bulk('cancel', options)));
  filters(bulk.command('rerun').description('Run every execution that matches again.'))
    .option('--from-failure', 'only what failed, and what follows')
    .option('--from-step <step>', 'this step, and what follows')
    .addOption(payload())
    .addOption(payloadFile())
    .addHelpText('after', examples('noetl bulk rerun --path team/import --from-failure'))
    .action(async (options) => finish(await (await import('../commands/bulk.js')).bulk('rerun', options)));
  bulk
    .command('status')
    .argument('[operation]', 'operation id (default: list them)')
    .description('Show how far bulk operations are.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl bulk status', 'noetl bulk status 312047190466560000'))
    .action(async (id: string | undefined, options) =>
      finish(await (await import('../commands/bulk.js')).bulkStatus(id, options)),
    );
}
