// `noetl subscriptions …`: the lifecycle of subscriptions on a server. People name them by catalog path; ids work too, and are the only
// way to reach one that a newer one has replaced.
import type { NoetlClient, SubscriptionStatus } from '@noetl/client';
import { actionsFrom, type SubscriptionAction, type SubscriptionState } from '@noetl/core';
import { type ConnectionOptions, connect } from '../connection.js';
import { CliError, EXIT, type ExitCode } from '../errors.js';
import { printJson } from '../print-json.js';
import { type Paint, type Palette, paletteFor, sanitise, say, table } from '../terminal.js';

export interface SubscriptionOptions extends ConnectionOptions {
  readonly output: 'text' | 'json';
}

export async function register(path: string, options: SubscriptionOptions): Promise<ExitCode> {
  return tell(await connect(options).registerSubscription(path), options);
}

export async function move(
  subscription: string,
  action: SubscriptionAction,
  options: SubscriptionOptions,
): Promise<ExitCode> {
  const client = connect(options);
  const { subscription_id } = await find(client, subscription);
  return tell(await client.moveSubscription(subscription_id, action), options);
}

function tell(status: SubscriptionStatus, options: SubscriptionOptions): ExitCode {
  if (options.output === 'json') printJson(status);
  else {
    const state = statePaint(status.state, paletteFor(process.stdout))(status.state);
    process.stdout.write(`${status.subscription_id}  ${state}  ${sanitise(status.path)}\n`);
  }
  return EXIT.ok;
}

export interface ListSubscriptionsOptions extends SubscriptionOptions {
  /** Deactivated ones too: a runtime leaves one behind whenever it stops. */
  readonly all?: boolean;
}

export async function list(options: ListSubscriptionsOptions): Promise<ExitCode> {
  const { subscriptions } = await connect(options).subscriptions();
  const shown = options.all === true ? subscriptions : subscriptions.filter(isLiving);
  if (options.output === 'json') printJson({ subscriptions: shown });
  else if (shown.length === 0) say('No subscriptions. Register one with `noetl subscriptions register PATH`.');
  else {
    const paint = paletteFor(process.stdout);
    const rows = shown.map((status) => [
      status.subscription_id,
      statePaint(status.state, paint)(status.state),
      withoutFraction(status.updated_at),
      sanitise(status.path),
    ]);
    process.stdout.write(table(['SUBSCRIPTION', 'STATE', 'SINCE', 'PATH'], rows, paint));
  }
  return EXIT.ok;
}

const SHOWN_EVENTS = 20;

export async function show(subscription: string, options: SubscriptionOptions): Promise<ExitCode> {
  const client = connect(options);
  const status = await find(client, subscription);
  const { events } = await client.subscriptionEvents(status.subscription_id, { page_size: SHOWN_EVENTS });
  if (options.output === 'json') {
    printJson({ ...status, events });
    return EXIT.ok;
  }
  const paint = paletteFor(process.stdout);
  for (const [name, value] of [
    ['Subscription', status.subscription_id],
    ['Path', sanitise(status.path)],
    ['State', statePaint(status.state, paint)(status.state)],
    ['Since', status.updated_at],
    ['Document', `catalog id ${status.catalog_id}`],
    ['Possible', actionsFrom(status.state).join(', ')],
  ] as const) {
    process.stdout.write(`${paint.dim(name.padEnd(12))}  ${value}\n`);
  }
  const rows = events
    .reverse()
    .map((event) => [
      String(event.stream_version),
      withoutFraction(event.created_at),
      event.event_type,
      sanitise(event.status),
    ]);
  process.stdout.write(`\n${table(['#', 'TIME', 'EVENT', 'STATE'], rows, paint)}`);
  return EXIT.ok;
}

/** By id; or by path: the living one, else the one that lived last. */
async function find(client: NoetlClient, subscription: string): Promise<SubscriptionStatus> {
  if (/^\d{1,20}$/.test(subscription)) return client.subscription(subscription);
  const { subscriptions } = await client.subscriptions({ path: subscription });
  const found = subscriptions.find(isLiving) ?? subscriptions.at(-1);
  if (found !== undefined) return found;
  throw new CliError(`There is no subscription of "${subscription}".`, {
    hint: `Register it with \`noetl subscriptions register ${subscription}\`; \`noetl subscriptions list\` shows what there is.`,
  });
}

function isLiving({ state }: SubscriptionStatus): boolean {
  return state !== 'DEACTIVATED';
}

function withoutFraction(time: string): string {
  return time.replace(/\.\d+/, '');
}

function statePaint(state: SubscriptionState, palette: Palette): Paint {
  switch (state) {
    case 'ACTIVE':
      return palette.green;
    case 'PAUSED':
    case 'DRAINING':
      return palette.yellow;
    case 'REGISTERED':
      return palette.cyan;
    case 'DEACTIVATED':
      return palette.dim;
  }
}
