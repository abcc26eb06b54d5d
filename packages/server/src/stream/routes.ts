// The state of the streams for operators, and the event that a claim check points to.
import { parseId } from '@noetl/core';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { NatsLink } from './connection.js';
import { eventBody } from './message.js';
import { findOutgoing } from './outgoing.js';
import type { MessagingSettings } from './settings.js';
import { streamsStatus } from './status.js';

export interface StreamRouteDeps {
  readonly pools: Pools;
  /** Undefined: NATS is not configured. */
  readonly link: NatsLink | undefined;
  readonly settings: MessagingSettings;
}

export function streamRoutes(app: App, { pools, link, settings }: StreamRouteDeps): void {
  app.get(
    '/api/ops/streams',
    {
      schema: {
        tags: ['operations'],
        summary: 'The streams on NATS: leader, cursor, lag and last error of every shard',
      },
    },
    () => streamsStatus(pools, link, settings),
  );

  app.get(
    '/api/events/:execution_id/:event_id',
    {
      schema: {
        tags: ['events'],
        summary: 'One event, in the shape of the messages of the event stream, whatever its size',
        params: Type.Object({ execution_id: Type.String(), event_id: Type.String() }),
      },
    },
    async (request, reply) => {
      const execution = parseId(request.params.execution_id);
      const event = parseId(request.params.event_id);
      if (execution === undefined || event === undefined)
        throw new ApiProblem('malformed', 'The ids must be whole numbers');
      const found = await findOutgoing(pools.forExecution(execution).pool, execution, event);
      if (found?.parts === undefined) throw new ApiProblem('not_found', `Execution ${execution} has no event ${event}`);
      return reply
        .type('application/json; charset=utf-8')
        .serializer((text: unknown) => String(text))
        .send(eventBody(found.head, found.parts));
    },
  );
}
