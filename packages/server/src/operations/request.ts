// What an operation asks for: an action, and which executions it is about. A filter that would mean everything is refused.
import { type Id, isObject, type Json, type JsonObject, parseId } from '@noetl/core';
import { ApiProblem } from '../errors.js';
import { type BulkFilter, RERUN_MODES } from '../executions/index.js';

export interface OperationRequest {
  readonly action: 'cancel' | 'rerun';
  readonly filter: BulkFilter;
  readonly limit: number;
  readonly dryRun: boolean;
  /** For a rerun: its request body. For a cancel: the reason. */
  readonly body: JsonObject;
}

const MAX_EXECUTIONS = 100_000;
const DEFAULT_LIMIT = 10_000;
const STATUSES = ['PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'];
const FILTER_FIELDS = [
  'execution_ids',
  'path',
  'catalog_id',
  'parent_execution_id',
  'status',
  'started_after',
  'started_before',
];

export function readOperation(body: JsonObject): OperationRequest {
  const { action } = body;
  if (action !== 'cancel' && action !== 'rerun')
    throw new ApiProblem('invalid', "field 'action' must be cancel or rerun");
  const filter = body.filter;
  if (!isObject(filter)) throw new ApiProblem('invalid', "field 'filter' must be an object");
  const unknown = Object.keys(filter).find((key) => !FILTER_FIELDS.includes(key));
  // A misspelt condition would silently widen the operation.
  if (unknown !== undefined)
    throw new ApiProblem('invalid', `filter: unknown field '${unknown}' (known: ${FILTER_FIELDS.join(', ')})`);
  if (Object.keys(filter).length === 0)
    throw new ApiProblem('invalid', "field 'filter' must name at least one condition");
  const rerun = rerunBody(action, body);
  return {
    action,
    filter: {
      ids: idsOf(filter.execution_ids),
      path: textOf(filter, 'path'),
      catalogId: idOf(filter, 'catalog_id'),
      parentId: idOf(filter, 'parent_execution_id'),
      statuses: statusesOf(filter.status, action, rerun.mode ?? null),
      startedAfter: timeOf(filter, 'started_after'),
      startedBefore: timeOf(filter, 'started_before'),
    },
    limit: limitOf(body.limit),
    dryRun: body.dry_run === true,
    body: action === 'cancel' ? { reason: typeof body.reason === 'string' ? body.reason : 'bulk cancel' } : rerun,
  };
}

function rerunBody(action: string, body: JsonObject): JsonObject {
  if (action !== 'rerun') return {};
  const mode = body.mode ?? 'same';
  if (mode === 'from_event' || !RERUN_MODES.some((known) => known === mode))
    throw new ApiProblem('invalid', "field 'mode' must be one of same, from_failure, from_step");
  if (mode === 'from_step' && typeof body.step !== 'string')
    throw new ApiProblem('invalid', "field 'step' must name the step to run from");
  const workload = body.workload ?? {};
  if (!isObject(workload)) throw new ApiProblem('invalid', "field 'workload' must be an object");
  return { mode, workload, ...(typeof body.step === 'string' ? { step: body.step } : {}) };
}

/** What is left out means what makes sense: cancel what runs, repair what failed, run again what has ended. */
function statusesOf(value: Json | undefined, action: string, mode: Json): string[] {
  if (value === undefined || value === null) {
    if (action === 'cancel') return ['PENDING', 'RUNNING'];
    return mode === 'from_failure' ? ['FAILED'] : ['COMPLETED', 'FAILED', 'CANCELLED'];
  }
  const words = (Array.isArray(value) ? value : [value]).map((word) => String(word).toUpperCase());
  const wrong = words.find((word) => !STATUSES.includes(word));
  if (wrong !== undefined)
    throw new ApiProblem('invalid', `filter.status: '${wrong}' is none of ${STATUSES.join(', ')}`);
  return words;
}

function idsOf(value: Json | undefined): Id[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) throw new ApiProblem('invalid', 'filter.execution_ids must be a list');
  return value.map((item) => {
    const id = parseId(item);
    if (id === undefined) throw new ApiProblem('invalid', 'filter.execution_ids: not an execution id');
    return id;
  });
}

function idOf(filter: JsonObject, field: string): Id | null {
  const value = filter[field] ?? null;
  if (value === null) return null;
  const id = parseId(value);
  if (id === undefined) throw new ApiProblem('invalid', `filter.${field} is not an id`);
  return id;
}

function textOf(filter: JsonObject, field: string): string | null {
  const value = filter[field] ?? null;
  if (value === null) return null;
  if (typeof value !== 'string' || value === '') throw new ApiProblem('invalid', `filter.${field} must be text`);
  return value;
}

function timeOf(filter: JsonObject, field: string): string | null {
  const value = textOf(filter, field);
  if (value === null) return null;
  const ms = Date.parse(value);
  if (Number.isNaN(ms)) throw new ApiProblem('invalid', `filter.${field} must be a time, 2030-01-31T08:00:00Z`);
  return new Date(ms).toISOString();
}

function limitOf(value: Json | undefined): number {
  if (value === undefined || value === null) return DEFAULT_LIMIT;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_EXECUTIONS)
    throw new ApiProblem('invalid', `field 'limit' must be a whole number from 1 to ${MAX_EXECUTIONS}`);
  return value;
}
