import type { Command } from 'commander';
import type { ExitCode } from '../errors.js';
import { dataDir, examples, json } from './options.js';

export function addDatabaseCommands(program: Command, finish: (code: ExitCode) => void): void {
  const db = program
    .command('db')
    .description('Reach the embedded database.')
    .addHelpText('after', examples('noetl db url', 'noetl db psql'));
  db.command('url')
    .description('Print its address.')
    .addOption(json())
    .addOption(dataDir())
    .addHelpText('after', examples('psql "$(noetl db url)"'))
    .action(async (options) => finish(await (await import('../commands/db.js')).url(options)));
  db.command('psql')
    .argument('[args...]', 'arguments for psql, after --')
    .description('Open psql on it.')
    .addOption(dataDir())
    .addHelpText('after', examples('noetl db psql', 'noetl db psql -- -c "select count(*) from noetl.event"'))
    .action(async (args: string[], options) => finish(await (await import('../commands/db.js')).psql(args, options)));
}
