// `GET /api/replay/state`: the state of an execution as of any event or moment, folded from its log.
import { Type } from 'typebox';
import type { App } from '../http/index.js';
import { readStateRequest, type StateQuery } from './request.js';
import { answerState, type StateDeps } from './state.js';

const PARAMETERS = {
  execution_id: 'The execution; one without events folds to the status UNKNOWN',
  as_of_event_id: 'Fold up to and including this event id',
  as_of_position: 'The same as as_of_event_id',
  as_of_time: 'Fold what had happened by this time, RFC 3339 with a zone',
  projection: 'execution, stage, frame, command, business_object, loop or all: part of the answer, all are folded',
  limit: 'The oldest so many events, 1 to 100000 (default 10000), or all',
  resolve_payloads: 'true: add checksum, size and rows of what the references point to',
  tenant_id: 'Part of the answer',
  organization_id: 'Part of the answer',
} as const;

export function stateRoutes(app: App, deps: StateDeps): void {
  const optional = (description: string) =>
    Type.Optional(Type.Union([Type.String({ description }), Type.Array(Type.String())]));
  app.get(
    '/api/replay/state',
    {
      schema: {
        tags: ['replay'],
        summary: 'The state of an execution, folded from its log up to a cutoff',
        querystring: Type.Object(
          Object.fromEntries(Object.entries(PARAMETERS).map(([name, text]) => [name, optional(text)])),
        ),
      },
    },
    async (request, reply) => {
      const { body, headers } = await answerState(deps, readStateRequest(request.query as StateQuery));
      reply.headers(headers).type('application/json; charset=utf-8');
      if (request.headers['if-none-match'] === headers['etag']) return reply.code(304).send();
      // Written already, byte for byte as its checksums say: it must not be serialised once more.
      return reply.serializer((text: unknown) => text as string).send(body);
    },
  );
}
