// Commands about executions on a server: exec, list, status, events, cancel. Each prints for a person, or with --json the
// server's own answer.
import type { ExecutionStatus, NoetlClient, WireEvent } from '@noetl/client';
import { type ConnectionOptions, connect } from '../connection.js';
import { formatDuration, parseDuration } from '../duration.js';
import { EXIT, type ExitCode, usageError } from '../errors.js';
import { checkId } from '../execution-id.js';
import { followToEnd } from '../follow-to-end.js';
import { buildPayload } from '../payload.js';
import { printJson } from '../print-json.js';
import { catchInterrupt } from '../signals.js';
import { type Paint, type Palette, paletteFor, sanitise, say, table } from '../terminal.js';
import { isTerminal } from '../tree/state.js';

interface CommonOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export interface ExecOptions extends CommonOptions {
  readonly payload: readonly string[];
  readonly payloadFile?: string;
  /** `--revision`: a catalog version; the newest when absent. */
  readonly revision?: number;
  readonly wait?: boolean;
  readonly timeout?: string;
}

export async function exec(path: string, options: ExecOptions): Promise<ExitCode> {
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  const payload = buildPayload(options.payload, options.payloadFile);
  const client = connect(options);
  const version = options.revision === undefined ? {} : { version: options.revision };
  const started = await client.execute({ path, payload, ...version });
  if (options.wait !== true) {
    if (options.json === true) printJson(started);
    else process.stdout.write(`${started.execution_id}\n`);
    return EXIT.ok;
  }
  const { execution_id: executionId } = started;
  return followToEnd(client, { executionId, path: started.path ?? path, timeoutMs }, options.json === true);
}

export interface ListOptions extends CommonOptions {
  readonly limit: number;
  readonly status?: string;
}

export async function list(what: string, options: ListOptions): Promise<ExitCode> {
  const client = connect(options);
  if (what === 'playbooks') return listPlaybooks(client, options);
  if (what !== 'executions')
    throw usageError(`There is no list of "${what}".`, 'Write `noetl list` or `noetl list playbooks`.');
  const status = options.status === undefined ? undefined : checkStatus(options.status);
  const answer = await client.listExecutions({ limit: options.limit, ...(status === undefined ? {} : { status }) });
  if (options.json === true) {
    printJson(answer);
    return EXIT.ok;
  }
  if (answer.length === 0) say('No executions yet. Start one with `noetl run FILE`.');
  else {
    const paint = paletteFor(process.stdout);
    const rows = answer.map((execution) => [
      execution.execution_id,
      statusPaint(execution.status, paint)(execution.status),
      execution.start_time.replace(/\.\d+/, ''),
      execution.duration_human ?? '',
      sanitise(execution.path),
    ]);
    process.stdout.write(table(['EXECUTION', 'STATUS', 'STARTED', 'TOOK', 'PLAYBOOK'], rows, paint));
  }
  return EXIT.ok;
}

async function listPlaybooks(client: NoetlClient, options: ListOptions): Promise<ExitCode> {
  const answer = await client.catalogList({ resource_type: 'Playbook' });
  if (options.json === true) {
    printJson(answer);
    return EXIT.ok;
  }
  const { entries } = answer;
  if (entries.length === 0) say('The catalog is empty. Add a playbook with `noetl register FILE`.');
  else {
    const rows = entries.map((entry) => [
      sanitise(entry.path),
      String(entry.version),
      entry.created_at.replace(/\.\d+/, ''),
    ]);
    process.stdout.write(table(['PLAYBOOK', 'VERSION', 'REGISTERED'], rows, paletteFor(process.stdout)));
  }
  return EXIT.ok;
}

export async function status(id: string, options: CommonOptions): Promise<ExitCode> {
  const client = connect(options);
  const answer = await client.status(checkId(id));
  if (options.json === true) {
    printJson(answer);
    return EXIT.ok;
  }
  const paint = paletteFor(process.stdout);
  const { progress } = answer;
  const rows: [string, string | null][] = [
    ['Execution', answer.execution_id],
    ['Playbook', sanitise(answer.path)],
    ['Status', statusPaint(answer.status, paint)(answer.status)],
    [
      'Steps',
      `${progress.completed_steps} of ${progress.total_steps} done${progress.failed_steps > 0 ? `, ${progress.failed_steps} failed` : ''}`,
    ],
    ['Current', answer.current_step],
    ['Started', answer.start_time],
    ['Took', answer.duration_human],
    ['Error', answer.error],
  ];
  if (!isTerminal(answer.status)) rows.push(['Waiting', (await client.explain(id)).summary]);
  for (const [name, value] of rows) {
    if (value !== null) process.stdout.write(`${paint.dim(name.padEnd(9))}  ${value}\n`);
  }
  return EXIT.ok;
}

export interface EventsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly page: number;
  readonly pageSize: number;
}

export async function events(id: string, options: EventsOptions): Promise<ExitCode> {
  const client = connect(options);
  checkId(id);
  if (options.follow === true) return followEvents(client, id, options);
  const answer = await client.events(id, { page: options.page, page_size: options.pageSize, order: 'asc' });
  if (options.json === true) {
    printJson(answer);
    return EXIT.ok;
  }
  const paint = paletteFor(process.stdout);
  for (const event of answer.events) process.stdout.write(eventLine(event, paint));
  const { page, total_pages, total_events, has_next } = answer.pagination;
  if (has_next) say(`Page ${page} of ${total_pages}, ${total_events} events. Next: --page ${page + 1}`);
  return EXIT.ok;
}

async function followEvents(client: NoetlClient, id: string, options: EventsOptions): Promise<ExitCode> {
  const interrupt = catchInterrupt(() => {});
  const paint = paletteFor(process.stdout);
  try {
    for await (const message of client.stream(id, { signal: interrupt.signal })) {
      if (message.event === 'event') {
        if (options.json === true) printJson(message.data);
        else process.stdout.write(eventLine(message.data, paint));
      } else if (isTerminal(message.data.status)) {
        break;
      }
    }
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  } finally {
    interrupt.dispose();
  }
  return EXIT.ok;
}

function eventLine(event: WireEvent, paint: Palette): string {
  const time = new Date(event.created_at).toISOString().slice(11, 23);
  const error = event.error === null ? '' : `  ${paint.red(sanitise(event.error).split('\n', 1)[0] ?? '')}`;
  const took = event.duration === null ? '' : `  ${paint.dim(formatDuration(event.duration * 1_000))}`;
  const version = String(event.stream_version).padStart(5);
  const name = sanitise(event.node_name ?? '').padEnd(20);
  return `${`${paint.dim(`${version}  ${time}`)}  ${event.event_type.padEnd(18)}  ${name}  ${event.status}${took}${error}`.trimEnd()}\n`;
}

export interface CancelOptions extends CommonOptions {
  readonly reason?: string;
}

export async function cancel(id: string, options: CancelOptions): Promise<ExitCode> {
  const reason = options.reason === undefined ? {} : { reason: options.reason };
  const answer = await connect(options).cancel(checkId(id), reason);
  if (options.json === true) printJson(answer);
  else process.stdout.write(`${answer.message}\n`);
  return EXIT.ok;
}

const STATUSES: readonly ExecutionStatus[] = ['PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'];

function checkStatus(text: string): ExecutionStatus {
  const found = STATUSES.find((status) => status === text.toUpperCase());
  if (found !== undefined) return found;
  throw usageError(`"${text}" is not a status.`, `One of: ${STATUSES.join(', ').toLowerCase()}.`);
}

function statusPaint(status: ExecutionStatus, palette: Palette): Paint {
  switch (status) {
    case 'COMPLETED':
      return palette.green;
    case 'FAILED':
      return palette.red;
    case 'CANCELLED':
      return palette.yellow;
    case 'RUNNING':
    case 'PENDING':
      return palette.cyan;
  }
}
