// What workers say about a command, in the shape in which it reaches the engine.
import type { Id } from '../../ids/index.js';
import type { Json } from '../../json/types.js';
import type { ProducedEvent } from '../decide.js';
import { encode } from '../encode.js';
import type { DomainEvent } from '../events.js';

export interface Told {
  readonly commandId: string;
  readonly step: string;
  readonly workerId: string | null;
  readonly eventId?: Id | null;
}

export function produced(event: DomainEvent, workerId: string | null, eventId: Id | null = null): ProducedEvent {
  return {
    ...encode(event, '0' as Id, '0' as Id),
    event_id: eventId,
    parent_event_id: null,
    parent_execution_id: null,
    worker_id: workerId,
    duration: null,
    created_at: '2027-01-15T08:00:00.000Z',
  };
}

export const started = ({ commandId, step, workerId, eventId }: Told) =>
  produced({ type: 'command.started', commandId, step }, workerId, eventId);

export const called = ({ commandId, step, workerId, eventId }: Told, data: Json, status = 'success') =>
  produced({ type: 'call.done', commandId, step, status, data, error: null, updates: {} }, workerId, eventId);

export const raised = ({ commandId, step, workerId, eventId }: Told, message = 'it broke') =>
  produced(
    { type: 'call.error', commandId, step, error: message, info: broken(message), data: null, updates: {} },
    workerId,
    eventId,
  );

export const completed = ({ commandId, step, workerId, eventId }: Told, status = 'success') =>
  produced({ type: 'command.completed', commandId, step, status }, workerId, eventId);

export const failed = ({ commandId, step, workerId, eventId }: Told, message = 'it broke') =>
  produced({ type: 'command.failed', commandId, step, error: message, info: broken(message) }, workerId, eventId);

function broken(message: string) {
  return { kind: 'runtime', retryable: false, code: 'BROKEN', message };
}

/** An event that anybody may post: it has a name of ours, or a name of their own. */
export function posted(type: string, step: string, commandId: string | null): ProducedEvent {
  return {
    event_id: null,
    parent_event_id: null,
    parent_execution_id: null,
    event_type: type,
    node_id: step,
    node_name: step,
    node_type: null,
    status: 'COMPLETED',
    command_id: commandId,
    worker_id: null,
    duration: null,
    context: { workload: { low: 99 }, path: 'elsewhere' },
    result: { status: 'COMPLETED', context: { step, values: { hijacked: true }, taken: [0], dead: [], tokens: {} } },
    meta: { run: 1, attempt: 9 },
    error: null,
    created_at: '2027-01-15T08:00:00.000Z',
  };
}
