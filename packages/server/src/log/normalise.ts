// A producer's event as it arrives, turned into a row: one mapping for every route that takes events.
// Stored data is never rewritten by redaction; secrets are masked where data leaves.
import { type Id, isObject, type Json, type JsonObject, type ProducedEvent, parseId } from '@noetl/core';
import { ApiProblem } from '../errors.js';
import { utcTime } from './utc-time.js';

export interface IncomingEvent {
  readonly [field: string]: Json;
}

export interface Normalised {
  readonly row: ProducedEvent;
  readonly token: number | undefined;
}

export interface NormaliseOptions {
  readonly now: string;
  /** Batch items are only informative unless they say otherwise. */
  readonly actionable: boolean;
  readonly workerId?: string | undefined;
  /** For events without an id. Minted before the append: one that is tried again after a broken connection stays one event. */
  nextId(): Id;
}

export function normaliseEvent(event: IncomingEvent, options: NormaliseOptions): Normalised {
  const step = event.step ?? event.node_name;
  if (typeof step !== 'string')
    throw new ApiProblem('invalid', "field 'step' must be a string: the step the event is about");
  const type = event.event_type ?? event.name;
  if (typeof type !== 'string' || type === '')
    throw new ApiProblem('invalid', "field 'event_type' must be a non-empty string");
  const payload = event.payload ?? event.context ?? null;
  const status = textOf(event, 'status') ?? statusFromName(type);
  const workerId = textOf(event, 'worker_id') ?? options.workerId ?? null;
  const meta = metaOf(event, workerId, options.actionable);
  return {
    row: {
      event_id: eventIdOf(event.event_id ?? null) ?? options.nextId(),
      parent_event_id: null,
      parent_execution_id: null,
      event_type: type,
      node_id: step,
      node_name: step,
      node_type: null,
      status,
      command_id: null,
      // Some workers name themselves in the payload only; a lost claim must be recognised all the same.
      worker_id: workerId ?? (isObject(payload) && typeof payload.worker_id === 'string' ? payload.worker_id : null),
      duration: null,
      context: null,
      result: resultOf(event, status, payload),
      meta,
      error: null,
      created_at: createdAt(event.created_at ?? null, options.now),
    },
    token: typeof meta.claim_token === 'number' ? meta.claim_token : undefined,
  };
}

export function statusFromName(type: string): 'COMPLETED' | 'FAILED' | 'RUNNING' {
  if (/done|exit|completed/.test(type)) return 'COMPLETED';
  if (/error|failed/.test(type)) return 'FAILED';
  return 'RUNNING';
}

function resultOf(event: IncomingEvent, status: string, payload: Json): JsonObject {
  const kind = event.result_kind ?? 'data';
  const uri = event.result_uri;
  if (kind === 'ref' && typeof uri === 'string') {
    const store_tier = uri.startsWith('gs://') ? 'gcs' : uri.startsWith('s3://') ? 's3' : 'artifact';
    return { status, reference: { store_tier, logical_uri: uri } };
  }
  if (kind === 'refs' && Array.isArray(event.event_ids)) {
    return { status, reference: { event_ids: event.event_ids, total_parts: event.event_ids.length } };
  }
  return isObject(payload) ? { status, context: payload } : { status };
}

function metaOf(event: IncomingEvent, workerId: string | null, actionable: boolean): JsonObject {
  const given = event.meta ?? null;
  if (given !== null && !isObject(given)) throw new ApiProblem('invalid', "field 'meta' must be an object");
  return {
    ...given,
    actionable: flag(event.actionable, actionable),
    informative: flag(event.informative, true),
    ...(workerId === null ? {} : { worker_id: workerId }),
  };
}

function eventIdOf(value: Json): Id | null {
  if (value === null) return null;
  const id = parseId(value);
  if (id === undefined) throw new ApiProblem('invalid', `Invalid event_id: ${String(value).slice(0, 40)}`);
  return id;
}

function createdAt(value: Json, now: string): string {
  if (value === null) return now;
  const time = typeof value === 'string' ? utcTime(value) : undefined;
  if (time === undefined)
    throw new ApiProblem('invalid', "field 'created_at' must be an RFC 3339 time, like 2026-01-02T03:04:05Z");
  return time;
}

function textOf(event: IncomingEvent, field: string): string | undefined {
  const value = event[field] ?? null;
  if (value === null) return undefined;
  if (typeof value !== 'string') throw new ApiProblem('invalid', `field '${field}' must be a string`);
  return value;
}

const flag = (value: Json | undefined, fallback: boolean): boolean => (typeof value === 'boolean' ? value : fallback);
