import type { Command } from 'commander';
import type { ExitCode } from '../errors.js';
import { atLeast, dataDir, examples, json, server } from './options.js';

export function addOperationsCommands(program: Command, admin: Command, finish: (code: ExitCode) => void): void {
  program
    .command('ops')
    .description('One screen: health, workers, queue, outbox, streams, shards.')
    .option('--watch', 'show it again and again, until Ctrl-C')
    .option('--interval <seconds>', 'how often --watch looks', atLeast(1), 2)
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl ops', 'noetl ops --watch --interval 5', 'noetl ops --json'))
    .action(async (options) => finish(await (await import('../commands/ops.js')).ops(options)));
  admin
    .command('shards')
    .description('What every shard holds, and what waits there.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl admin shards', 'noetl admin shards --json'))
    .action(async (options) => finish(await (await import('../commands/shards.js')).shards(options)));
}
