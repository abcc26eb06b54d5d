// An event that is a row already, as a stream carries it: read with tolerance, because whoever sent it may be older or newer than we are.
// What is missing gets the defaults that such rows always had: execution 0, catalog 0, tenant and organization `default`.
import { type Id, isObject, type Json, type JsonObject, type ProducedEvent, parseId } from '@noetl/core';
import { utcTime } from '../log/index.js';

/** An event to be stored as it is, and where. */
export interface ReceivedEvent {
  readonly executionId: Id;
  readonly event: ProducedEvent & { readonly event_id: Id };
  /** Null: the sender did not say. */
  readonly catalogId: Id | null;
  readonly tenantId: string;
  readonly organizationId: string;
}

/** Why one event of a batch cannot be stored. The others are not concerned. */
export class BadEvent extends Error {
  override readonly name = 'BadEvent';
}

/** A date alone, or an hour alone, is not taken. */
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/;

export function readEnvelope(item: Json, now: string): ReceivedEvent {
  if (!isObject(item)) throw new BadEvent('must be an object');
  const eventId = idOf(item, 'event_id');
  if (eventId === null) throw new BadEvent("'event_id' is missing");
  return {
    executionId: idOf(item, 'execution_id') ?? ('0' as Id),
    catalogId: idOf(item, 'catalog_id'),
    tenantId: textOf(item, 'tenant_id') || 'default',
    organizationId: textOf(item, 'organization_id') || 'default',
    event: {
      event_id: eventId,
      parent_event_id: idOf(item, 'parent_event_id'),
      parent_execution_id: idOf(item, 'parent_execution_id'),
      event_type: textOf(item, 'event_type') || 'unknown',
      node_id: textOf(item, 'node_id'),
      node_name: textOf(item, 'node_name'),
      node_type: textOf(item, 'node_type'),
      status: textOf(item, 'status'),
      command_id: textOf(item, 'command_id'),
      worker_id: textOf(item, 'worker_id'),
      duration: durationOf(item),
      context: item.context ?? null,
      result: resultOf(item.result ?? null),
      meta: metaOf(item),
      error: textOf(item, 'error'),
      created_at: timeOf(item, 'timestamp') ?? timeOf(item, 'created_at') ?? now,
    },
  };
}

function idOf(item: JsonObject, field: string): Id | null {
  const value = item[field] ?? null;
  if (value === null || value === '') return null;
  const id = parseId(value);
  if (id === undefined) throw new BadEvent(`'${field}' is not an id: ${shown(value)}`);
  return id;
}

function textOf(item: JsonObject, field: string): string | null {
  const value = item[field] ?? null;
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'object') throw new BadEvent(`'${field}' must be a text`);
  return String(value);
}

function durationOf(item: JsonObject): number | null {
  const value = item.duration ?? null;
  if (value === null || value === '') return null;
  const seconds = Number(value);
  if (!Number.isFinite(seconds)) throw new BadEvent(`'duration' must be a number: ${shown(value)}`);
  return seconds;
}

/** The database checks the same; said here, it can be said clearly. */
function resultOf(value: Json): Json {
  if (value === null) return null;
  const { status, context, reference, ...rest } = isObject(value) ? value : ({ status: null } as JsonObject);
  const isShape = (part: Json | undefined) => part === undefined || isObject(part);
  if (typeof status !== 'string' || !isShape(context) || !isShape(reference) || Object.keys(rest).length > 0) {
    throw new BadEvent("'result' must be {status, context?, reference?}");
  }
  return value;
}

/** There is no column for a stack trace. */
function metaOf(item: JsonObject): Json {
  const meta = item.meta ?? null;
  const trace = textOf(item, 'stack_trace');
  if (trace === null || (meta !== null && !isObject(meta))) return meta;
  return { ...meta, stack_trace: trace };
}

/** A time without a zone is UTC; blank is absent. */
function timeOf(item: JsonObject, field: string): string | null {
  const value = item[field] ?? null;
  if (value === null || (typeof value === 'string' && value.trim() === '')) return null;
  const time = typeof value === 'string' && TIME.test(value.trim()) ? utcTime(value) : undefined;
  if (time === undefined) throw new BadEvent(`'${field}' is not a time: ${shown(value)}`);
  return time;
}

function shown(value: Json): string {
  return String(typeof value === 'object' ? typeof value : value).slice(0, 40);
}
