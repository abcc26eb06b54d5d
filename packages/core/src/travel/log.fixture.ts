// Logs for tests: domain events as the rows that the engine would write, a second apart.
import { encode } from '../engine/encode.js';
import type { DomainEvent } from '../engine/events.js';
import type { EventRow } from '../engine/row.js';
import type { Id } from '../ids/index.js';

export const EXECUTION = '380580603717746688' as Id;

export function second(count: number): string {
  return new Date(Date.UTC(2026, 10, 16) + count * 1_000).toISOString();
}

export function logOf(...events: DomainEvent[]): EventRow[] {
  return events.map((event, index) => ({
    ...encode(event, EXECUTION, '1' as Id),
    execution_id: EXECUTION,
    event_id: String(1_000 + index) as Id,
    stream_version: index + 1,
    catalog_id: '1' as Id,
    parent_event_id: null,
    parent_execution_id: null,
    duration: null,
    created_at: second(index),
  }));
}

export const commandOf = (step: string, number = 1): string => `${EXECUTION}:${step}:${number}`;

export const started: DomainEvent = {
  type: 'playbook_started',
  path: 'samples/x',
  catalogId: '1' as Id,
  workload: { n: 1 },
  pool: 'shared',
  engineRev: 1,
  parentExecutionId: null,
  parentEventId: null,
  trace: null,
  depth: 0,
  caller: null,
};

export const enter = (step: string, run = 1, items?: number[]): DomainEvent => ({
  type: 'step.enter',
  step,
  run,
  ...(items === undefined
    ? {}
    : { loop: { loopId: `${step}:${run}`, iterator: 'item', items, maxInFlight: 2, onError: 'continue' as const } }),
});

export const issue = (step: string, number = 1, attempt = 1, index?: number): DomainEvent => ({
  type: 'command.issued',
  commandId: commandOf(step, number),
  step,
  run: 1,
  toolKind: 'python',
  pool: 'shared',
  attempt,
  maxAttempts: 3,
  idempotent: true,
  context: { tool_config: null, args: {}, render_context: {} },
  ...(index === undefined ? {} : { iteration: { index, total: 3, loopId: `${step}:1`, iterator: 'item' } }),
});

export const claim = (step: string, number = 1): DomainEvent => ({
  type: 'command.claimed',
  commandId: commandOf(step, number),
  step,
  workerId: 'w',
  token: 1,
});

export const start = (step: string, number = 1): DomainEvent => ({
  type: 'command.started',
  commandId: commandOf(step, number),
  step,
});

export const requeue = (step: string, number = 1): DomainEvent => ({
  type: 'command.requeued',
  commandId: commandOf(step, number),
  step,
  attempt: 2,
  reason: 'lease_expired',
  delayMs: 0,
  fromWorker: 'w',
});

export const done = (step: string, data: number, number = 1): DomainEvent => ({
  type: 'call.done',
  commandId: commandOf(step, number),
  step,
  status: 'success',
  data,
  error: null,
  updates: {},
});

export const complete = (step: string, number = 1): DomainEvent => ({
  type: 'command.completed',
  commandId: commandOf(step, number),
  step,
  status: 'success',
});

export const fail = (step: string, number = 1): DomainEvent => ({
  type: 'command.failed',
  commandId: commandOf(step, number),
  step,
  error: 'no',
  info: { kind: 'x', retryable: true, code: 'X', message: 'no' },
});

export const write = (step: string, values: Record<string, number>): DomainEvent => ({
  type: 'ctx.updated',
  step,
  values,
});

export const end = (status: 'COMPLETED' | 'FAILED' | 'CANCELLED'): DomainEvent => ({
  type: 'playbook.ended',
  status,
  error: null,
  failedSteps: [],
  reason: 'quiescent',
});
