import type { SubscriptionAction } from '@noetl/core';
import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import { dataDir, examples, json, server } from './options.js';

const SUBSCRIPTION_ACTIONS: Readonly<Record<SubscriptionAction, string>> = {
  activate: 'Start it, or bring back one that was deactivated.',
  pause: 'Take no further messages for now.',
  resume: 'Go on after a pause.',
  drain: 'Finish what was taken, take nothing new.',
  deactivate: 'End it; registering its path again makes a new one.',
};

export function addSubscriptionCommands(program: Command, finish: (code: ExitCode) => void): void {
  const subscriptions = program
    .command('subscriptions')
    .description('Register subscriptions, and move them through their lifecycle.')
    .addHelpText(
      'after',
      examples(
        'noetl register orders.yaml && noetl subscriptions register team/orders',
        'noetl subscriptions activate team/orders',
        'noetl subscriptions list -o json',
      ),
    );
  const add = (name: string, description: string) =>
    subscriptions
      .command(name)
      .description(description)
      .addOption(new Option('-o, --output <format>', 'how to answer').default('text').choices(['text', 'json']))
      .addOption(json().implies({ output: 'json' }))
      .addOption(server())
      .addOption(dataDir());
  const commands = () => import('../commands/subscriptions.js');

  add('register', 'Make a subscription of a document in the catalog; again gives the same one.')
    .argument('<path>', 'catalog path of the document')
    .action(async (path: string, options) => finish(await (await commands()).register(path, options)));
  for (const [action, description] of Object.entries(SUBSCRIPTION_ACTIONS) as [SubscriptionAction, string][]) {
    add(action, description)
      .argument('<subscription>', 'its path or id')
      .action(async (subscription: string, options) =>
        finish(await (await commands()).move(subscription, action, options)),
      );
  }
  add('list', 'List living subscriptions, oldest first.')
    .option('-a, --all', 'deactivated ones too')
    .action(async (options) => finish(await (await commands()).list(options)));
  add('show', 'Show one, what may be asked of it, and its last events.')
    .argument('<subscription>', 'its path or id')
    .action(async (subscription: string, options) => finish(await (await commands()).show(subscription, options)));
}
