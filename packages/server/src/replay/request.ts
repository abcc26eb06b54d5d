// What a request for a state asks for. Every refusal is a 400 that says which parameter is wrong.
import { type Id, isRequestedProjection, parseId, REQUESTED_PROJECTIONS, type RequestedProjection } from '@noetl/core';
import { ApiProblem } from '../errors.js';
import { timeOf } from './time.js';

/** Where a fold ends: after the last event that the cutoff admits. */
export type Cutoff =
  | { readonly type: 'end' }
  | { readonly type: 'event'; readonly eventId: Id }
  | { readonly type: 'time'; readonly time: string };

export interface StateRequest {
  readonly executionId: Id;
  readonly tenantId: string;
  readonly organizationId: string;
  readonly projection: RequestedProjection;
  readonly cutoff: Cutoff;
  /** The oldest so many events; infinite for the whole log. */
  readonly limit: number;
  readonly resolvePayloads: boolean;
}

const DEFAULT_LIMIT = 10_000;
const MAX_LIMIT = 100_000;

export type StateQuery = Readonly<Record<string, string | string[] | undefined>>;

export function readStateRequest(query: StateQuery): StateRequest {
  return {
    executionId: executionIdOf(query),
    tenantId: textOf(query, 'tenant_id') ?? 'default',
    organizationId: textOf(query, 'organization_id') ?? 'default',
    cutoff: cutoffOf(query),
    projection: projectionOf(query),
    limit: limitOf(query),
    resolvePayloads: flagOf(query, 'resolve_payloads'),
  };
}

export function executionIdOf(query: StateQuery, name = 'execution_id'): Id {
  const text = textOf(query, name);
  if (text === undefined) throw new ApiProblem('malformed', `query '${name}' is missing: which execution?`);
  return idOf(text, name);
}

function cutoffOf(query: StateQuery): Cutoff {
  const eventId = textOf(query, 'as_of_event_id');
  const position = textOf(query, 'as_of_position');
  const time = textOf(query, 'as_of_time');
  if ([eventId, position, time].filter((value) => value !== undefined).length > 1) {
    throw new ApiProblem('malformed', 'Use only one replay cutoff: as_of_event_id, as_of_position, or as_of_time');
  }
  if (eventId !== undefined) return { type: 'event', eventId: idOf(eventId, 'as_of_event_id') };
  // There is no other position than the event id.
  if (position !== undefined) return { type: 'event', eventId: idOf(position, 'as_of_position') };
  if (time === undefined) return { type: 'end' };
  return { type: 'time', time: timeOf(time, 'as_of_time') };
}

function projectionOf(query: StateQuery): RequestedProjection {
  const name = textOf(query, 'projection') ?? 'all';
  if (isRequestedProjection(name)) return name;
  throw new ApiProblem(
    'malformed',
    `unknown projection ${JSON.stringify(name)}; expected one of: ${REQUESTED_PROJECTIONS.join(', ')}`,
  );
}

/** A number outside the range becomes the nearest one inside it: that is what clients of the reference rely on. */
function limitOf(query: StateQuery): number {
  const text = textOf(query, 'limit');
  if (text === undefined) return DEFAULT_LIMIT;
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (!/^[+-]?\d{1,19}$/.test(text)) throw new ApiProblem('malformed', "query 'limit' must be an integer or 'all'");
  return Math.min(Math.max(Number(text), 1), MAX_LIMIT);
}

function flagOf(query: StateQuery, name: string): boolean {
  const text = textOf(query, name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ApiProblem('malformed', `query '${name}' must be true or false`);
}

function idOf(text: string, name: string): Id {
  const id = parseId(text);
  if (id === undefined) throw new ApiProblem('malformed', `query '${name}' must be an integer`);
  return id;
}

export function textOf(query: StateQuery, name: string): string | undefined {
  const value = query[name];
  if (Array.isArray(value)) throw new ApiProblem('malformed', `query '${name}' is given more than once`);
  return value;
}
