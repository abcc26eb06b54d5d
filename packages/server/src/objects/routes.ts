// Business objects: what playbooks have said about a thing with `emit`, folded to how it stands now, and its whole history.
import {
  compareIds,
  ExactFloat,
  type ExactJson,
  foldReplayEvent,
  type Id,
  isExactObject,
  type Json,
  parseExactJson,
  redact,
  startReplay,
} from '@noetl/core';
import { Type } from 'typebox';
import { eachShard, type Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { type KnownObject, type ObjectEvent, objectEvents, objectsOfType } from './store.js';

const PAGE = 1_000;
const MAX_EVENTS = 50_000;

export function objectRoutes(app: App, { pools }: { pools: Pools }): void {
  app.get(
    '/api/business-objects/:type',
    {
      schema: {
        tags: ['business objects'],
        summary: 'Objects of a type, by id',
        params: Type.Object({ type: Type.String() }),
        querystring: Type.Object({
          after: Type.Optional(Type.String({ description: 'Last id of the page before' })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
        }),
      },
    },
    async (request) => {
      const { after = '', limit = 100 } = request.query;
      const { type } = request.params;
      const found = await Promise.all(pools.shards.map((shard) => objectsOfType(shard.pool, type, after, limit)));
      return { object_type: type, objects: merged(found.flat()).slice(0, limit) };
    },
  );

  app.get(
    '/api/business-objects/:type/:id',
    {
      schema: {
        tags: ['business objects'],
        summary: 'How an object stands, and the events that made it so, oldest first',
        params: Type.Object({ type: Type.String(), id: Type.String() }),
        querystring: Type.Object({
          at: Type.Optional(Type.String({ description: 'As of this event' })),
          after: Type.Optional(Type.String({ description: 'History after this event' })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
        }),
      },
    },
    async (request) => {
      const { type, id } = request.params;
      const { at, after = '0', limit = 100 } = request.query;
      const all = await history(type, id);
      const events = at === undefined ? all : all.filter((event) => compareIds(event.event_id, at as Id) <= 0);
      if (events.length === 0) throw new ApiProblem('not_found', `Nothing is known of ${type}/${id}`);
      const fold = startReplay();
      for (const event of events) foldReplayEvent(fold, { ...event, meta: parseExactJson(event.meta_text) });
      const object = fold.business_objects.get(`${type}/${id}`);
      if (object === undefined) throw new ApiProblem('not_found', `Nothing is known of ${type}/${id}`);
      const later = events.filter((event) => compareIds(event.event_id, after as Id) > 0);
      return {
        object_type: object.object_type,
        object_id: object.object_id,
        status: object.status,
        version: object.version,
        event_count: object.event_count,
        first_event_id: object.first_event_id ?? null,
        last_event_id: object.last_event_id ?? null,
        deleted_event_id: object.deleted_event_id ?? null,
        attributes: redact(plain(object.attributes)),
        events: later.slice(0, limit).map(shown),
        has_more: later.length > limit,
      };
    },
  );

  async function history(type: string, id: string): Promise<ObjectEvent[]> {
    let count = 0;
    const found = await eachShard(pools, async ({ pool }) => {
      const events: ObjectEvent[] = [];
      let after = '0' as Id;
      for (;;) {
        const page = await objectEvents(pool, { type, id, after, limit: PAGE });
        events.push(...page);
        count += page.length;
        if (count > MAX_EVENTS) throw new ApiProblem('invalid', `${type}/${id} has more than ${MAX_EVENTS} events`);
        if (page.length < PAGE) return events;
        after = page[page.length - 1]?.event_id ?? after;
      }
    });
    return found.flat().sort((a, b) => compareIds(a.event_id, b.event_id));
  }
}

function merged(found: readonly KnownObject[]): KnownObject[] {
  const byId = new Map<string, KnownObject>();
  for (const object of found) {
    const known = byId.get(object.object_id);
    const last =
      known !== undefined && compareIds(known.last_event_id, object.last_event_id) > 0
        ? known.last_event_id
        : object.last_event_id;
    byId.set(object.object_id, {
      object_id: object.object_id,
      event_count: object.event_count + (known?.event_count ?? 0),
      last_event_id: last,
    });
  }
  return [...byId.values()].sort((a, b) => (a.object_id < b.object_id ? -1 : 1));
}

function shown({ execution_id, event_id, event_type, node_name, status, meta, created_at }: ObjectEvent) {
  return { execution_id, event_id, event_type, step: node_name, status, created_at, meta: redact(meta) };
}

/** The fold tells 1.0 from 1; readers of the API do not. */
function plain(value: ExactJson): Json {
  if (value instanceof ExactFloat) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (isExactObject(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
  return value as Json;
}
