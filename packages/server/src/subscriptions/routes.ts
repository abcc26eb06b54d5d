import type { SubscriptionEventPage, SubscriptionStatus } from '@noetl/client';
import {
  type Id,
  isSubscriptionAction,
  isSubscriptionState,
  parseId,
  SUBSCRIPTION_ACTIONS,
  SUBSCRIPTION_STATES,
  type SubscriptionRecord,
  type SubscriptionState,
} from '@noetl/core';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import { wireEvent } from '../executions/index.js';
import type { App } from '../http/index.js';
import type { Subscriptions } from './subscriptions.js';

const IdParams = Type.Object({ id: Type.String({ description: 'Subscription id' }) });

export function subscriptionRoutes(app: App, { subscriptions }: { subscriptions: Subscriptions }): void {
  for (const path of ['/api/subscriptions', '/api/subscriptions/register']) {
    app.post(
      path,
      {
        schema: {
          tags: ['subscriptions'],
          summary: 'The living subscription of a catalog path; registered now when there is none',
          body: Type.Object({ path: Type.String({ minLength: 1 }) }),
        },
      },
      async (request) => statusOf(await subscriptions.register(request.body.path)),
    );
  }

  app.get(
    '/api/subscriptions',
    {
      schema: {
        tags: ['subscriptions'],
        summary: 'All subscriptions, oldest first',
        querystring: Type.Object({
          state: Type.Optional(Type.String()),
          path: Type.Optional(Type.String()),
        }),
      },
    },
    async (request) => {
      const { state, path } = request.query;
      const records = await subscriptions.list({ state: stateOf(state), path: path ?? null });
      return { subscriptions: records.map(statusOf) };
    },
  );

  app.get(
    '/api/subscriptions/:id',
    { schema: { tags: ['subscriptions'], summary: 'One subscription', params: IdParams } },
    async (request) => statusOf(await subscriptions.find(idOf(request.params.id))),
  );

  app.get(
    '/api/subscriptions/:id/events',
    {
      schema: {
        tags: ['subscriptions'],
        summary: 'The log of a subscription, paged',
        params: IdParams,
        querystring: Type.Object({
          page: Type.Optional(Type.Integer({ minimum: 1 })),
          page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
          order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
        }),
      },
    },
    async (request): Promise<SubscriptionEventPage> => {
      const { page = 1, page_size = 100, order = 'desc' } = request.query;
      const { subscriptionId, path, state } = await subscriptions.find(idOf(request.params.id));
      const { events, total } = await subscriptions.events(subscriptionId, {
        newestFirst: order === 'desc',
        limit: page_size,
        offset: (page - 1) * page_size,
      });
      const pages = Math.max(1, Math.ceil(total / page_size));
      return {
        subscription_id: subscriptionId,
        path,
        state,
        events: events.map(wireEvent),
        pagination: {
          page,
          page_size,
          total_events: total,
          total_pages: pages,
          has_next: page < pages,
          has_prev: page > 1,
        },
      };
    },
  );

  app.post(
    '/api/subscriptions/:id/:action',
    {
      schema: {
        tags: ['subscriptions'],
        summary: `Move it on: ${SUBSCRIPTION_ACTIONS.join(', ')}`,
        params: Type.Object({ ...IdParams.properties, action: Type.String() }),
      },
    },
    async (request) => {
      const { id, action } = request.params;
      if (!isSubscriptionAction(action)) {
        throw new ApiProblem(
          'invalid',
          `Unknown subscription action '${action.slice(0, 40)}'; there are ${SUBSCRIPTION_ACTIONS.join(', ')}`,
        );
      }
      return statusOf(await subscriptions.apply(idOf(id), action));
    },
  );
}

function statusOf(record: SubscriptionRecord): SubscriptionStatus {
  return {
    subscription_id: record.subscriptionId,
    path: record.path,
    catalog_id: record.catalogId,
    state: record.state,
    last_event_type: record.lastEventType,
    updated_at: record.updatedAt,
  };
}

function stateOf(word: string | undefined): SubscriptionState | null {
  if (word === undefined || word === '') return null;
  const state = word.toUpperCase();
  if (isSubscriptionState(state)) return state;
  throw new ApiProblem(
    'malformed',
    `query 'state': '${word.slice(0, 40)}' is not one of ${SUBSCRIPTION_STATES.join(', ')}`,
  );
}

function idOf(raw: string): Id {
  const id = parseId(raw);
  if (id === undefined)
    throw new ApiProblem('malformed', `'${raw.slice(0, 40)}' is not a subscription id: ids are 1 to 19 digits`);
  return id;
}
