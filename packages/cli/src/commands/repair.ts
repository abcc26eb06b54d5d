// Moving an execution that stands still, and repairing one that has failed: signal, rerun.
import type { RerunRequest } from '@noetl/client';
import { type ConnectionOptions, connect } from '../connection.js';
import { parseDuration } from '../duration.js';
import { EXIT, type ExitCode, usageError } from '../errors.js';
import { checkId } from '../execution-id.js';
import { followToEnd } from '../follow-to-end.js';
import { buildPayload } from '../payload.js';
import { printJson } from '../print-json.js';

interface PayloadOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly payload: readonly string[];
  readonly payloadFile?: string;
}

export interface SignalOptions extends PayloadOptions {
  readonly key?: string;
}

export async function signal(id: string, name: string, options: SignalOptions): Promise<ExitCode> {
  const payload = buildPayload(options.payload, options.payloadFile);
  const request = Object.keys(payload).length === 0 ? { name } : { name, payload };
  const answer = await connect(options).signal(checkId(id), request, { idempotencyKey: options.key });
  if (options.json === true) printJson(answer);
  else process.stdout.write(`${told(answer.status, answer.step)}\n`);
  return EXIT.ok;
}

function told(status: 'delivered' | 'kept' | 'duplicate', step: string | undefined): string {
  switch (status) {
    case 'delivered':
      return `Step '${step ?? ''}' goes on.`;
    case 'kept':
      return 'No step waits for it yet; the next one that does goes on at once.';
    case 'duplicate':
      return 'This signal was sent before.';
  }
}

export interface RerunOptions extends PayloadOptions {
  readonly fromFailure?: boolean;
  readonly fromStep?: string;
  readonly fromEvent?: string;
  readonly wait?: boolean;
  readonly timeout?: string;
}

export async function rerun(id: string, options: RerunOptions): Promise<ExitCode> {
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  const workload = buildPayload(options.payload, options.payloadFile);
  const client = connect(options);
  const answer = await client.rerun(checkId(id), { ...rerunPoint(options), workload });
  if (options.wait !== true) {
    if (options.json === true) printJson(answer);
    else process.stdout.write(`${answer.execution_id}\n`);
    return EXIT.ok;
  }
  const { path } = await client.status(answer.execution_id);
  return followToEnd(client, { executionId: answer.execution_id, path, timeoutMs }, options.json === true);
}

export function rerunPoint(options: Pick<RerunOptions, 'fromFailure' | 'fromStep' | 'fromEvent'>): RerunRequest {
  const given = [options.fromFailure === true, options.fromStep !== undefined, options.fromEvent !== undefined];
  if (given.filter(Boolean).length > 1)
    throw usageError('Only one of --from-failure, --from-step and --from-event can be meant.');
  if (options.fromFailure === true) return { mode: 'from_failure' };
  if (options.fromStep !== undefined) return { mode: 'from_step', step: options.fromStep };
  if (options.fromEvent !== undefined) return { mode: 'from_event', event_id: options.fromEvent };
  return { mode: 'same' };
}
