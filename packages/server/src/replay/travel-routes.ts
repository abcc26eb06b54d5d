// Views of an execution at any moment of its life. `at` is an event id, `#12` for the twelfth event, or a time; absent, it is now.
import { type Id, parseId } from '@noetl/core';
import { type TSchema, Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { executionIdOf, type StateQuery, textOf } from './request.js';
import { momentOf } from './time.js';
import type { Travel } from './travel.js';

const At = Type.Optional(
  Type.String({ description: 'Event id, version (#12) or time with its zone; the end of the log when absent' }),
);

const limited = (fallback: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, description: `${fallback} when absent` }));

export function travelRoutes(app: App, travel: Travel): void {
  const view = <Query extends Record<string, TSchema>>(summary: string, querystring: Query) => ({
    tags: ['replay'],
    summary,
    params: Type.Object({ id: Type.String({ description: 'Execution id' }) }),
    querystring: Type.Object({ at: At, ...querystring }),
  });

  app.get(
    '/api/executions/:id/timeline',
    {
      schema: view('Bars of step visits and their commands; items of loops folded into ranges', {
        after: Type.Optional(Type.Integer({ minimum: 0, description: 'Visits after this number' })),
        limit: limited(200, 1_000),
      }),
    },
    async ({ params, query }) =>
      travel.timeline(mustId(params.id), momentOf(query.at, 'at'), {
        after: query.after ?? 0,
        limit: query.limit ?? 200,
      }),
  );

  app.get(
    '/api/executions/:id/graph',
    { schema: view('The graph of the playbook with the state of every step and arc', {}) },
    async ({ params, query }) => travel.graph(mustId(params.id), momentOf(query.at, 'at')),
  );

  app.get(
    '/api/executions/:id/variables',
    {
      schema: view('Every variable, and the event and step that wrote it', {
        after: Type.Optional(Type.String({ description: 'Variables after this name' })),
        limit: limited(200, 1_000),
      }),
    },
    async ({ params, query }) =>
      travel.variables(mustId(params.id), momentOf(query.at, 'at'), {
        after: query.after ?? '',
        limit: query.limit ?? 200,
      }),
  );

  app.get(
    '/api/executions/:id/changes',
    { schema: view('What each of the last events up to a moment changed', { limit: limited(20, 200) }) },
    async ({ params, query }) => travel.changes(mustId(params.id), momentOf(query.at, 'at'), query.limit ?? 20),
  );

  app.get(
    '/api/executions/:id/events/:event_id/neighbours',
    {
      schema: {
        tags: ['replay'],
        summary: 'The events before and after one, what caused it and what followed from it',
        params: Type.Object({ id: Type.String(), event_id: Type.String() }),
      },
    },
    async ({ params }) => travel.neighbours(mustId(params.id), mustId(params.event_id, 'event id')),
  );

  app.get(
    '/api/replay/diff',
    {
      schema: {
        tags: ['replay'],
        summary: 'What differs between two moments of one execution, or between two executions',
        querystring: Type.Object({
          execution_id: Type.Optional(Type.String()),
          with: Type.Optional(Type.String({ description: 'Another execution; absent: the same one' })),
          from: Type.Optional(Type.String({ description: 'Moment of the first side; its end when absent' })),
          to: Type.Optional(Type.String({ description: 'Moment of the second side; its end when absent' })),
        }),
      },
    },
    async ({ query }) => {
      const given = query as StateQuery;
      const id = executionIdOf(given);
      const other = textOf(given, 'with') === undefined ? id : executionIdOf(given, 'with');
      if (other === id && query.from === undefined)
        throw new ApiProblem('malformed', "query 'from' or 'with' is missing: what is it to be compared with?");
      return travel.diff({ id, moment: momentOf(query.from, 'from') }, { id: other, moment: momentOf(query.to, 'to') });
    },
  );
}

function mustId(text: string, what = 'execution id'): Id {
  const id = parseId(text);
  if (id === undefined) throw new ApiProblem('malformed', `'${text}' is not an ${what}`);
  return id;
}
