import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { dataDir, examples, json, server } from './options.js';

export function addReplayCommands(program: Command, finish: (code: ExitCode) => void): void {
  const replay = program
    .command('replay')
    .argument('[id]', 'execution id')
    .description('Show how an execution stood at any moment, worked out from its log.')
    .option('--at <moment>', "an event id, '#12' for the twelfth event, or a time with its zone (default: the end)")
    .addOption(new Option('--projection <name>', 'execution, stage, frame, command, business_object, loop or all'))
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples(
        'noetl replay 312047190466560000',
        "noetl replay 312047190466560000 --at '#12'",
        'noetl replay 312047190466560000 --at 2026-11-16T04:00:00Z --json',
        'noetl replay diff 312047190466560000 312047190466560999',
        'noetl replay fold < logs.jsonl > states.jsonl',
      ),
    )
    .action(async (id: string | undefined, options) => {
      if (id === undefined) return replay.help({ error: true });
      finish(await (await import('../commands/replay-state.js')).replay(id, options));
    });
  replay
    .command('diff')
    .argument('<id>', 'execution id')
    .argument('<first>', 'a moment of it; or the id of another execution')
    .argument('[second]', 'a later moment')
    .description('What differs between two moments of an execution, or between two executions.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples(
        "noetl replay diff 312047190466560000 '#5' '#12'",
        'noetl replay diff 312047190466560000 312047190466570000',
      ),
    )
    .action(async (id: string, first: string, second: string | undefined, options) =>
      finish(await (await import('../commands/replay-state.js')).diff(id, first, second, options)),
    );
  replay
    .command('fold')
    .description('Fold exported logs, one JSON object a line on stdin, to one state a line on stdout; needs no server.')
    .addHelpText(
      'after',
      examples(
        'noetl replay fold < logs.jsonl > states.jsonl',
        `echo '{"execution_id":1,"events":[]}' | noetl replay fold`,
      ),
    )
    .action(async () => finish(await (await import('../commands/replay.js')).fold()));

  program
    .command('export')
    .argument('<id>', 'execution id')
    .description('Write the log of an execution to a file, with its playbook and a checksum.')
    .option('-o, --output <file>', 'where to (default: stdout)')
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl export 312047190466560000 -o run.jsonl'))
    .action(async (id: string, options) =>
      finish(await (await import('../commands/replay-archive.js')).exportLog(id, options)),
    );
  program
    .command('import')
    .argument('<file>', 'a file that export wrote (- for stdin)')
    .description('Store a file of export as history: it can be replayed and rerun, but nobody works for it.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl import run.jsonl', 'noetl export ID --server http://a:8082 | noetl import -'))
    .action(async (file: string, options) =>
      finish(await (await import('../commands/replay-archive.js')).importLog(file, options)),
    );
}
