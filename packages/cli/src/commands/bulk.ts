// One action on many executions: starts the server's job and watches it.
import { setTimeout as pause } from 'node:timers/promises';
import type { NoetlClient, OperationRequest, OperationView } from '@noetl/client';
import { type ConnectionOptions, connect } from '../connection.js';
import { EXIT, type ExitCode } from '../errors.js';
import { checkId } from '../execution-id.js';
import { buildPayload } from '../payload.js';
import { printJson } from '../print-json.js';
import { paletteFor, say, table } from '../terminal.js';
import { rerunPoint } from './repair.js';

const POLL_MS = 500;

export interface BulkOptions extends ConnectionOptions {
  readonly path?: string;
  readonly status?: string;
  readonly startedAfter?: string;
  readonly startedBefore?: string;
  readonly parent?: string;
  readonly limit: number;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly json?: boolean;
  readonly reason?: string;
  readonly fromFailure?: boolean;
  readonly fromStep?: string;
  readonly payload?: readonly string[];
  readonly payloadFile?: string;
}

export async function bulk(action: 'cancel' | 'rerun', options: BulkOptions): Promise<ExitCode> {
  const client = connect(options);
  const request = requestOf(action, options);
  if (options.dryRun === true) {
    const counted = await client.startOperation({ ...request, dry_run: true });
    if (options.json === true) printJson(counted);
    else process.stdout.write(`${counted.total} executions match.\n`);
    return EXIT.ok;
  }
  const started = await client.startOperation(request);
  const last = options.wait ? await watch(client, started.operation_id) : started;
  if (options.json === true) printJson(last);
  else process.stdout.write(`${line(last)}\n`);
  for (const { execution_id, error } of last.failures ?? []) say(`${execution_id}: ${error ?? 'failed'}`);
  return last.failed > 0 ? EXIT.failed : EXIT.ok;
}

export async function bulkStatus(
  id: string | undefined,
  options: ConnectionOptions & { readonly json?: boolean },
): Promise<ExitCode> {
  const client = connect(options);
  if (id !== undefined) {
    const operation = await client.operation(checkId(id));
    if (options.json === true) printJson(operation);
    else process.stdout.write(`${line(operation)}\n`);
    for (const { execution_id, error } of operation.failures ?? []) say(`${execution_id}: ${error ?? 'failed'}`);
    return EXIT.ok;
  }
  const { operations } = await client.operations();
  if (options.json === true) printJson({ operations });
  else if (operations.length === 0) say('No bulk operations yet.');
  else {
    const rows = operations.map((operation) => [
      operation.operation_id,
      operation.action,
      operation.status,
      `${operation.progress} %`,
      `${operation.done} of ${operation.total}`,
      String(operation.failed),
    ]);
    const head = ['OPERATION', 'ACTION', 'STATUS', 'PROGRESS', 'DONE', 'FAILED'];
    process.stdout.write(table(head, rows, paletteFor(process.stdout)));
  }
  return EXIT.ok;
}

function requestOf(action: 'cancel' | 'rerun', options: BulkOptions): OperationRequest {
  const filter = {
    ...(options.path === undefined ? {} : { path: options.path }),
    ...(options.status === undefined ? {} : { status: options.status }),
    ...(options.startedAfter === undefined ? {} : { started_after: options.startedAfter }),
    ...(options.startedBefore === undefined ? {} : { started_before: options.startedBefore }),
    ...(options.parent === undefined ? {} : { parent_execution_id: options.parent }),
  };
  const { limit } = options;
  if (action === 'cancel')
    return { action, filter, limit, ...(options.reason === undefined ? {} : { reason: options.reason }) };
  const workload = buildPayload(options.payload ?? [], options.payloadFile);
  return { action, filter, limit, ...rerunPoint(options), workload };
}

async function watch(client: NoetlClient, id: string): Promise<OperationView> {
  for (;;) {
    const operation = await client.operation(id);
    if (operation.status !== 'RUNNING') return operation;
    if (process.stderr.isTTY) process.stderr.write(`\r${line(operation)}`);
    await pause(POLL_MS);
  }
}

function line({ operation_id, action, status, done, total, skipped, failed }: OperationView): string {
  const rest = [skipped > 0 ? `${skipped} had ended` : '', failed > 0 ? `${failed} failed` : ''].filter(Boolean);
  return `${operation_id}  ${action} ${status}  ${done} of ${total}${rest.length === 0 ? '' : `, ${rest.join(', ')}`}`;
}
