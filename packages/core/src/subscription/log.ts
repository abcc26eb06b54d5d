// The log of a subscription: events under its own id, and the fold that gives the subscription back. The row that the server keeps
// is this fold and nothing else. Other events may share the log (messages dropped, limits hit); they never change the state.
import type { EventRow } from '../engine/index.js';
import type { Id } from '../ids/index.js';
import { isObject } from '../json/index.js';
import { SUBSCRIPTION_EVENTS, type SubscriptionEventType, type SubscriptionState } from './lifecycle.js';

export interface SubscriptionRecord {
  readonly subscriptionId: Id;
  /** Catalog path of its document, and the version that was the newest when it was registered. */
  readonly path: string;
  readonly catalogId: Id;
  readonly state: SubscriptionState;
  /** How many events of its lifecycle there are: whoever decides on a revision may write only the next one. */
  readonly revision: number;
  readonly lastEventType: SubscriptionEventType;
  readonly lastEventId: Id;
  readonly updatedAt: string;
}

export interface LifecycleEvent {
  readonly subscriptionId: Id;
  readonly path: string;
  readonly catalogId: Id;
  readonly type: SubscriptionEventType;
  readonly eventId: Id;
  /** Position in the subscription's log, from 1. */
  readonly streamVersion: number;
  readonly at: string;
}

export function lifecycleEvent(event: LifecycleEvent): EventRow {
  const { subscriptionId, path, catalogId } = event;
  return {
    execution_id: subscriptionId,
    event_id: event.eventId,
    stream_version: event.streamVersion,
    catalog_id: catalogId,
    parent_event_id: null,
    parent_execution_id: null,
    event_type: event.type,
    node_id: 'subscription',
    node_name: path,
    node_type: 'subscription',
    status: SUBSCRIPTION_EVENTS[event.type],
    command_id: null,
    worker_id: null,
    duration: null,
    context: { subscription_id: subscriptionId, path, catalog_id: catalogId },
    result: null,
    meta: { emitted_at: event.at, emitter: 'control_plane', subscription_lifecycle: true },
    error: null,
    created_at: event.at,
  };
}

/** Folds one row. Rows come in the order of their stream versions: event ids of two servers may be in another order. */
export function evolveSubscription(
  record: SubscriptionRecord | undefined,
  row: EventRow,
): SubscriptionRecord | undefined {
  if (!isLifecycleEvent(row.event_type) || isForeign(row)) return record;
  return {
    subscriptionId: row.execution_id,
    path: row.node_name ?? record?.path ?? '',
    catalogId: row.catalog_id,
    state: SUBSCRIPTION_EVENTS[row.event_type],
    revision: (record?.revision ?? 0) + 1,
    lastEventType: row.event_type,
    lastEventId: row.event_id,
    updatedAt: row.created_at,
  };
}

/** The subscription that a whole log describes; undefined when it was never registered. */
export function foldSubscription(rows: Iterable<EventRow>): SubscriptionRecord | undefined {
  let record: SubscriptionRecord | undefined;
  for (const row of rows) record = evolveSubscription(record, row);
  return record;
}

/** A client may announce what only the control plane decides: it is stored, and moves nothing. */
function isForeign({ meta }: EventRow): boolean {
  return isObject(meta) && meta.external === true;
}

function isLifecycleEvent(type: string): type is SubscriptionEventType {
  return Object.hasOwn(SUBSCRIPTION_EVENTS, type);
}
