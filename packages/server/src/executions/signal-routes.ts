// Telling a running execution that something has happened outside: an approval, a file that has arrived, a person's answer.
import { createHash } from 'node:crypto';
import type { SignalResponse } from '@noetl/client';
import { canonicalJson, type Id, type Json, parseId } from '@noetl/core';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Log } from '../log/index.js';
import { claimIdempotencyKey } from './store.js';

const MAX_NAME = 200;
const MAX_KEY = 255;

export interface SignalDeps {
  readonly log: Log;
  readonly pools: Pools;
  nextId(): Id;
}

export function signalRoutes(app: App, { log, pools, nextId }: SignalDeps): void {
  app.post(
    '/api/executions/:id/signal',
    {
      schema: {
        tags: ['executions'],
        summary: 'Send a signal; a step `kind: wait` with this name goes on, now or when it comes to wait',
        params: Type.Object({ id: Type.String({ description: 'Execution id' }) }),
        body: Type.Object({
          name: Type.Optional(Type.Any({ description: 'Name of the signal (alias `signal`)' })),
          signal: Type.Optional(Type.Any()),
          payload: Type.Optional(Type.Any({ description: 'Any JSON; the waiting step returns it' })),
        }),
      },
    },
    async (request): Promise<SignalResponse> => {
      const id = parseId(request.params.id);
      if (id === undefined)
        throw new ApiProblem('malformed', `'${request.params.id.slice(0, 40)}' is not an execution id`);
      const name = nameOf(request.body.name ?? request.body.signal);
      const payload = (request.body.payload ?? null) as Json;
      const eventId = await eventIdFor(id, request.headers['idempotency-key'], { name, payload });
      const [outcome] = await log.append(id, [{ type: 'signal', name, payload, eventId }]);
      switch (outcome?.refused) {
        case undefined:
          break;
        case 'not_started':
          throw new ApiProblem('not_found', `Execution not found: ${id}`);
        case 'too_many_signals':
          throw new ApiProblem('conflict', 'Too many signals are kept that no step waits for');
        default:
          throw new ApiProblem('already_terminal', 'The execution has ended; it takes no more signals');
      }
      const delivered = outcome?.command;
      return {
        execution_id: id,
        signal: name,
        status: outcome?.duplicate ? 'duplicate' : delivered === undefined ? 'kept' : 'delivered',
        ...(delivered === undefined ? {} : { step: delivered.step }),
      };
    },
  );

  /** A key makes the same signal sent twice one signal: the second has the event id of the first. */
  async function eventIdFor(id: Id, key: string | string[] | undefined, body: { name: string; payload: Json }) {
    if (typeof key !== 'string' || key === '') return null;
    if (key.length > MAX_KEY) throw new ApiProblem('invalid', `Idempotency-Key is longer than ${MAX_KEY} characters`);
    const requestHash = createHash('sha256').update(canonicalJson(body)).digest('hex');
    const claim = { scope: `signal/${id}`, key, executionId: nextId(), requestHash };
    const holder = await claimIdempotencyKey(pools.cluster, claim);
    if (holder.requestHash !== requestHash)
      throw new ApiProblem('idempotency_conflict', 'This Idempotency-Key was used with another signal; take a new key');
    return holder.executionId;
  }
}

function nameOf(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > MAX_NAME)
    throw new ApiProblem('invalid', `field 'name' must be the signal's name, 1 to ${MAX_NAME} characters`);
  return value.trim();
}
