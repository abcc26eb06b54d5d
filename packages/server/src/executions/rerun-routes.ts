import { isObject, parseId } from '@noetl/core';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Rerunner } from './rerun.js';

export function rerunRoutes(app: App, { rerunner }: { rerunner: Rerunner }): void {
  app.post(
    '/api/executions/:id/rerun',
    {
      schema: {
        tags: ['executions'],
        summary: 'Run an execution again, as a whole or from a failure, a step or an event',
        params: Type.Object({ id: Type.String({ description: 'Execution id' }) }),
        body: Type.Optional(
          Type.Object({
            mode: Type.Optional(Type.Any({ description: 'same (default), from_failure, from_step or from_event' })),
            step: Type.Optional(Type.Any({ description: 'For from_step' })),
            event_id: Type.Optional(Type.Any({ description: 'For from_event: the last event to keep' })),
            workload: Type.Optional(Type.Any({ description: 'Values to change, key by key (alias `payload`)' })),
          }),
        ),
      },
    },
    (request) => {
      const id = parseId(request.params.id);
      if (id === undefined)
        throw new ApiProblem('malformed', `'${request.params.id.slice(0, 40)}' is not an execution id`);
      const key = request.headers['idempotency-key'];
      const body = isObject(request.body) ? request.body : {};
      return rerunner.rerun(id, body, typeof key === 'string' && key !== '' ? { idempotencyKey: key } : {});
    },
  );
}
