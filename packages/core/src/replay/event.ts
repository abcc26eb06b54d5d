// What the fold looks at in an event, and what it finds there. A row of the log is such an event; so is a line of an exported one.
import type { Id } from '../ids/index.js';
import { canonicalText } from './canonical.js';
import { type ExactJson, type ExactObject, objectOrEmpty } from './exact-json.js';

/** Null and absent mean the same in every field. */
export interface ReplayEvent {
  readonly event_id: Id;
  readonly event_type: string;
  readonly node_name?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly stage_id?: string | null | undefined;
  readonly frame_id?: string | null | undefined;
  readonly command_id?: string | null | undefined;
  readonly worker_id?: string | null | undefined;
  readonly aggregate_type?: string | null | undefined;
  readonly aggregate_id?: string | null | undefined;
  readonly meta?: ExactJson;
  readonly result?: ExactJson;
}

/** An integer of 64 bits with sign. A `bigint` only where a number would be rounded. */
export type Int64 = number | bigint;

/** An event with its identities worked out, once for all projections. */
export interface Facts {
  readonly id: Id;
  readonly type: string;
  /** Empty where the producer said nothing. */
  readonly status: string;
  readonly nodeName: string | undefined;
  readonly stageId: string | undefined;
  readonly frameId: string | undefined;
  readonly commandId: string | undefined;
  readonly loopId: string | undefined;
  readonly workerId: string | undefined;
  readonly aggregateType: string | undefined;
  readonly aggregateId: string | undefined;
  readonly meta: ExactObject;
  /** `result.reference`: where the payload of the event is kept. */
  readonly reference: ExactJson | undefined;
}

export function factsOf(event: ReplayEvent): Facts {
  const meta = objectOrEmpty(event.meta);
  return {
    id: event.event_id,
    type: event.event_type,
    status: event.status ?? '',
    nodeName: event.node_name ?? undefined,
    stageId: event.stage_id ?? aggregate(event, 'stage') ?? textIn(meta, 'stage_id'),
    frameId: event.frame_id ?? aggregate(event, 'frame') ?? textIn(meta, 'frame_id'),
    commandId: event.command_id ?? textIn(meta, 'command_id'),
    loopId: textIn(meta, 'loop_id') ?? textIn(meta, 'loop_event_id') ?? textIn(meta, '__loop_epoch_id'),
    workerId: event.worker_id ?? textIn(meta, 'worker_id'),
    aggregateType: event.aggregate_type ?? undefined,
    aggregateId: event.aggregate_id ?? undefined,
    meta,
    reference: objectOrEmpty(event.result)['reference'] ?? undefined,
  };
}

/** The id in `<type>/<id>` when the event belongs to an aggregate of this type. */
function aggregate(event: ReplayEvent, type: 'stage' | 'frame'): string | undefined {
  const { aggregate_type, aggregate_id } = event;
  if (aggregate_type !== type || aggregate_id === undefined || aggregate_id === null) return undefined;
  return withoutPrefix(aggregate_id, `${type}/`);
}

export function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** The value as text, whatever its type. Null is absent: no command is called "null". */
export function textIn(object: ExactObject, key: string): string | undefined {
  const value = object[key];
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? undefined : canonicalText(value);
}

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** The value if it is an integer of 64 bits; neither "5" nor 5.0 is one. */
export function integerIn(object: ExactObject, key: string): Int64 | undefined {
  const value = object[key];
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : undefined;
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined;
}
