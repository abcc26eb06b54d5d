// Registering subscriptions and moving them through their lifecycle. Every answer is what the log says after the change; two servers
// that act on the same subscription are ordered by its revision, and whoever was second decides again on what it finds.
import {
  compareIds,
  decideSubscription,
  type EventRow,
  evolveSubscription,
  type Id,
  type LifecycleEvent,
  lifecycleEvent,
  type SubscriptionAction,
  type SubscriptionRecord,
  type SubscriptionState,
} from '@noetl/core';
import { entryByPath } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { eventPage } from '../log/index.js';
import { homeOf, mintIdAt } from './home.js';
import {
  addSubscription,
  isHeadMoved,
  isPathTaken,
  listSubscriptions,
  livingSubscription,
  moveSubscription,
  subscriptionAtHead,
  subscriptionById,
} from './store.js';

export interface Subscriptions {
  /** The living subscription of the path; a new one when there is none. */
  register(path: string): Promise<SubscriptionRecord>;
  apply(id: Id, action: SubscriptionAction): Promise<SubscriptionRecord>;
  find(id: Id): Promise<SubscriptionRecord>;
  /** Oldest first, over all shards. */
  list(filter: { state: SubscriptionState | null; path: string | null }): Promise<SubscriptionRecord[]>;
  events(
    id: Id,
    page: { newestFirst: boolean; limit: number; offset: number },
  ): Promise<{ events: EventRow[]; total: number }>;
}

/** Each further round means that somebody else got through; this many in a row mean a loop somewhere. */
const MAX_ROUNDS = 200;

export function createSubscriptions(options: { pools: Pools; nextId(): Id; now(): Date }): Subscriptions {
  const { pools, nextId } = options;

  /** The event, and the subscription as it is after it. */
  function next(before: SubscriptionRecord | undefined, change: Omit<LifecycleEvent, 'eventId' | 'at'>) {
    const event = lifecycleEvent({ ...change, eventId: nextId(), at: options.now().toISOString() });
    const record = evolveSubscription(before, event);
    if (record === undefined) throw new Error(`${event.event_type} is no event of a lifecycle`);
    return { event, record };
  }

  async function add(path: string, catalogId: Id): Promise<SubscriptionRecord | undefined> {
    const home = homeOf(pools, path);
    const living = await livingSubscription(home.pool, path);
    if (living !== undefined) return living;
    const subscriptionId = mintIdAt(pools, home, nextId);
    const { event, record } = next(undefined, {
      subscriptionId,
      path,
      catalogId,
      type: 'subscription.registered',
      streamVersion: 1,
    });
    return addSubscription(home.pool, record, event);
  }

  async function move(id: Id, action: SubscriptionAction): Promise<SubscriptionRecord | undefined> {
    const { pool } = pools.forExecution(id);
    const found = await subscriptionAtHead(pool, id);
    if (found === undefined) throw notRegistered(id);
    const before = found.record;
    const decision = decideSubscription(before.state, action);
    if (!decision.allowed) throw notAllowed(action, before, decision.allowedFrom);
    const { event, record } = next(before, {
      subscriptionId: id,
      path: before.path,
      catalogId: before.catalogId,
      type: decision.event,
      streamVersion: found.head + 1,
    });
    try {
      return await moveSubscription(pool, record, event);
    } catch (error) {
      if (isHeadMoved(error)) return undefined;
      if (!isPathTaken(error)) throw error;
      const living = await livingSubscription(pool, before.path);
      if (living === undefined) return undefined;
      throw new ApiProblem(
        'conflict',
        `Subscription ${id} cannot come back: '${before.path}' is served by ${living.subscriptionId}, and a path has one living subscription`,
      );
    }
  }

  return {
    async register(path) {
      const entry = await entryByPath(pools.cluster, path, null);
      if (entry === undefined) throw new ApiProblem('not_found', `Subscription not found: ${path}`);
      if (entry.kind !== 'subscription') {
        throw new ApiProblem('invalid', `Catalog entry '${path}' is kind '${entry.kind}', not 'subscription'`);
      }
      return untilFirst(() => add(path, entry.catalog_id));
    },
    apply: (id, action) => untilFirst(() => move(id, action)),
    async find(id) {
      const record = await subscriptionById(pools.forExecution(id).pool, id);
      if (record === undefined) throw notRegistered(id);
      return record;
    },
    async list(filter) {
      const found = await Promise.all(pools.shards.map((shard) => listSubscriptions(shard.pool, filter)));
      return found.flat().sort((a, b) => compareIds(a.subscriptionId, b.subscriptionId));
    },
    events: (id, page) => eventPage(pools.forExecution(id).pool, id, { sinceEventId: null, eventType: null, ...page }),
  };
}

/** Repeats an attempt that found somebody else a step ahead. */
async function untilFirst(attempt: () => Promise<SubscriptionRecord | undefined>): Promise<SubscriptionRecord> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const record = await attempt();
    if (record !== undefined) return record;
  }
  throw new ApiProblem('unavailable', 'The subscription keeps changing; try again', {}, { 'retry-after': '1' });
}

function notRegistered(id: Id): ApiProblem {
  return new ApiProblem('not_found', `Subscription ${id} not registered`);
}

function notAllowed(
  action: SubscriptionAction,
  { state }: SubscriptionRecord,
  from: readonly SubscriptionState[],
): ApiProblem {
  const allowed = from.map((word) => `"${word}"`).join(', ');
  return new ApiProblem('invalid', `Cannot '${action}' a subscription in state '${state}' (allowed from [${allowed}])`);
}
