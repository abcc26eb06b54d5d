import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { atLeast, examples } from './options.js';

export function addTestCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('test')
    .argument('<files...>', 'playbooks with tests, or directories with some')
    .description('Run the tests of playbooks: mocked tools, virtual time, no server.')
    .option('--filter <text>', 'only tests with this in their name')
    .option('--bail', 'stop at the first failure')
    .option('--real <kinds>', 'tool kinds that run for real when a step has no mock: python,shell')
    .option('--shuffle', 'try every test in several orders of what ends side by side')
    .addOption(new Option('--seed <n>', 'one other order; with --shuffle, the first one to try').argParser(atLeast(0)))
    .option('--coverage', 'how often each step and each arc was reached')
    .addOption(
      new Option('-o, --output <format>', 'how results are written').default('text').choices(['text', 'json', 'junit']),
    )
    .option('--junit <file>', 'also write JUnit XML to this file')
    .addHelpText(
      'after',
      examples(
        'noetl test examples/tested.yaml',
        'noetl test playbooks/ --shuffle --junit report.xml',
        'noetl test report.yaml --filter weekend --real python',
      ),
    )
    .action(async (files: string[], options) =>
      finish(await (await import('../commands/test.js')).test(files, options)),
    );
}
