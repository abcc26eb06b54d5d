import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { collect, dataDir, examples, json, server } from './options.js';

/** Gives the command `admin`, for what belongs under it. */
export function addAdminCommands(program: Command, finish: (code: ExitCode) => void): Command {
  const admin = program
    .command('admin')
    .description('Look after the databases.')
    .addHelpText('after', examples('noetl admin rebuild --check', 'noetl admin shards'));
  admin
    .command('rebuild')
    .description('Compare executions, commands and snapshots with the log they follow from, and repair what differs.')
    .option('--check', 'only look; exit code 1 when something differs')
    .option(
      '--adopt',
      'take over executions that were brought here from elsewhere: their open commands go into the queue',
    )
    .addOption(
      new Option('--execution <id>', 'only this execution; repeatable (default: all)').default([]).argParser(collect),
    )
    .addOption(json())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl admin rebuild --check', 'noetl admin rebuild --execution 312047190466560000'))
    .action(async (options) => finish(await (await import('../commands/admin.js')).rebuild(options)));
  admin
    .command('drift')
    .argument('[id]', 'execution id')
    .description(
      'Replay executions and compare them with what is stored about them; exit code 1 when something differs.',
    )
    .option('--all', 'every execution')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl admin drift 312047190466560000', 'noetl admin drift --all'))
    .action(async (id: string | undefined, options) =>
      finish(await (await import('../commands/replay-drift.js')).drift(id, options)),
    );
  return admin;
}
