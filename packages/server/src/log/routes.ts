// Events from producers of the reference protocol. Our own workers use /api/worker/report; both end in the same append.
import { type Id, isObject, type Json, type JsonObject, parseId, type Refusal } from '@noetl/core';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Metrics } from '../observability/index.js';
import type { Log, Outcome } from './index.js';
import { type IncomingEvent, normaliseEvent } from './normalise.js';

const EVENT_LIMIT = 16 * 1024 * 1024;
const MAX_BATCH = 10_000;

export function eventRoutes(app: App, { log, metrics, nextId }: { log: Log; metrics: Metrics; nextId(): Id }): void {
  app.post(
    '/api/events',
    {
      bodyLimit: EVENT_LIMIT,
      schema: {
        tags: ['events'],
        summary: 'Store one event; the same event_id twice is stored once',
        body: Type.Any(),
      },
    },
    async (request) => {
      const started = performance.now();
      const body = bodyOf(request.body);
      const id = executionIdOf(body);
      const { row, token } = normaliseEvent(body as IncomingEvent, {
        now: new Date().toISOString(),
        actionable: true,
        nextId,
      });
      const [outcome] = await log.append(id, [{ type: 'event', row, token }]);
      const seconds = (performance.now() - started) / 1000;
      const refused = outcome?.refused;
      metrics.eventsIngested(row.event_type, refused === undefined ? 'ok' : 'error', 1, seconds);
      if (outcome === undefined || refused !== undefined) {
        if (isOwnClaim(row.event_type, row.worker_id, outcome)) return accepted(0n, []);
        throw refusal(refused ?? 'not_started', id, outcome);
      }
      const eventId = outcome.duplicate ? row.event_id : (outcome.rows[0]?.event_id ?? null);
      return accepted(eventId === null ? 0n : BigInt(eventId), outcome.rows);
    },
  );

  app.post(
    '/api/events/batch',
    {
      bodyLimit: EVENT_LIMIT,
      schema: {
        tags: ['events'],
        summary: 'Store several events of one execution in one transaction',
        body: Type.Any(),
      },
    },
    async (request) => {
      const body = bodyOf(request.body);
      const id = executionIdOf(body);
      const items = body.events;
      if (!Array.isArray(items)) throw new ApiProblem('invalid', "field 'events' must be a list");
      if (items.length > MAX_BATCH) throw new ApiProblem('invalid', `a batch takes at most ${MAX_BATCH} events`);
      if (items.length === 0) return { status: 'ok', event_ids: [], commands_generated: 0 };
      const now = new Date().toISOString();
      const workerId = typeof body.worker_id === 'string' ? body.worker_id : undefined;
      const facts = items.map((item, index) => {
        if (!isObject(item)) throw new ApiProblem('invalid', `events[${index}] must be an object`);
        try {
          const { row, token } = normaliseEvent(item, { now, actionable: false, workerId, nextId });
          return { type: 'event' as const, row, token };
        } catch (error) {
          if (error instanceof ApiProblem) throw new ApiProblem(error.code, `events[${index}]: ${error.message}`);
          throw error;
        }
      });
      const outcomes = await log.append(id, facts);
      const refused = outcomes.find((outcome) => outcome.refused !== undefined);
      if (refused?.refused === 'not_started') throw refusal('not_started', id, refused);
      const ids = outcomes.map((outcome, index) => outcome.rows[0]?.event_id ?? facts[index]?.row.event_id ?? null);
      return {
        status: 'ok',
        event_ids: ids.map((eventId) => (eventId === null ? 0 : BigInt(eventId))),
        commands_generated: issuedBy(outcomes.flatMap((outcome) => outcome.rows)),
        refused: outcomes.flatMap((outcome, index) =>
          outcome.refused === undefined ? [] : [{ index, code: outcome.refused }],
        ),
      };
    },
  );
}

function accepted(eventId: bigint, rows: Outcome['rows']) {
  return { status: 'ok', event_id: eventId, commands_generated: issuedBy(rows) };
}

function issuedBy(rows: Outcome['rows']): number {
  return rows.filter((row) => row.event_type === 'command.issued').length;
}

/** A worker that claims what it holds already is told yes. */
function isOwnClaim(type: string, workerId: string | null, outcome: Outcome | undefined): boolean {
  return type === 'command.claimed' && outcome?.refused === 'already_claimed' && outcome.command?.workerId === workerId;
}

function refusal(refused: Refusal, id: Id, outcome: Outcome | undefined): ApiProblem {
  switch (refused) {
    case 'not_started':
    case 'already_started':
      return new ApiProblem('not_found', `Execution not found: ${id}`);
    case 'already_claimed':
      return new ApiProblem(
        'active_claim',
        `Command already claimed by ${outcome?.command?.workerId ?? 'another worker'}`,
      );
    case 'stale_claim':
      return new ApiProblem('stale_claim', 'Another claim has replaced this one');
    case 'not_open':
      return new ApiProblem('already_terminal', 'Command already reached terminal state, or never existed');
    case 'already_terminal':
      return new ApiProblem('already_terminal', `Execution ${id} has ended`);
    case 'not_due':
    case 'too_many_signals':
      return new ApiProblem('conflict', `Execution ${id} refused the event: ${refused}`);
  }
}

function bodyOf(body: unknown): JsonObject {
  if (!isObject(body)) throw new ApiProblem('invalid', 'The body must be a JSON object');
  return body;
}

function executionIdOf(body: { readonly [field: string]: Json }): Id {
  const id = parseId(body.execution_id);
  if (id === undefined) throw new ApiProblem('invalid', 'Invalid execution_id');
  return id;
}
