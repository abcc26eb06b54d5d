import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { atLeast, dataDir, examples, json, server } from './options.js';

export function addCatalogCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('validate')
    .argument('<files...>', 'playbooks in YAML, or directories with some (- for stdin)')
    .description('Check playbooks without a server: every problem, with file, line and column.')
    .addOption(
      new Option('-o, --output <format>', 'how problems are written')
        .default('text')
        .choices(['text', 'github', 'json']),
    )
    .addHelpText(
      'after',
      examples(
        'noetl validate examples/hello_world.yaml',
        'noetl validate playbooks/ -o github                annotations in a GitHub workflow',
        'noetl validate playbooks/ -o json | jq length',
      ),
    )
    .action(async (files: string[], options) =>
      finish(await (await import('../commands/validate.js')).validate(files, options)),
    );

  const catalog = program
    .command('catalog')
    .description('Remove playbooks from the catalog, and bring them back.')
    .addHelpText(
      'after',
      examples('noetl catalog delete team/report --version 3', 'noetl catalog restore team/report'),
    );
  const one = () => new Option('--version <n>', 'this version only (default: all)').argParser(atLeast(1));
  catalog
    .command('delete')
    .argument('<path>', 'catalog path of a playbook')
    .description('Archive versions: the path no longer finds them; what runs goes on.')
    .addOption(one())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl catalog delete team/report', 'noetl catalog delete team/report --version 3'))
    .action(async (path: string, options) =>
      finish(await (await import('../commands/archive.js')).remove(path, options)),
    );
  catalog
    .command('restore')
    .argument('<path>', 'catalog path of a playbook')
    .description('Bring back archived versions.')
    .addOption(one())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl catalog restore team/report'))
    .action(async (path: string, options) =>
      finish(await (await import('../commands/archive.js')).restore(path, options)),
    );
}
