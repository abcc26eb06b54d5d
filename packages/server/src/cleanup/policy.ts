// How long things are kept. Every field is optional; a value of 0 or less keeps that thing for ever.
import { isObject, type Json } from '@noetl/core';
import { ApiProblem } from '../errors.js';

export interface CleanupPolicy {
  /** Rows of finished commands. Their events stay in the log. */
  readonly command_retention_days: number;
  /** Registrations of workers that were not heard of. */
  readonly runtime_stale_minutes: number;
  /** Whole partitions of the log. Off unless somebody asks for it: it is the only truth there is. */
  readonly event_retention_days: number;
  readonly outbox_retention_hours: number;
  /** Results of executions that have ended, unless they have an end of their own. */
  readonly result_retention_days: number;
  /** Variables of executions that have ended. */
  readonly transient_retention_days: number;
  /** Snapshots, after the end of their execution. */
  readonly snapshot_retention_days: number;
  /** Keys by which a message is recognised when it comes again. */
  readonly dedup_max_age_days: number;
  /** Keys of start requests. A key that is forgotten starts again: off unless somebody asks for it. */
  readonly idempotency_retention_days: number;
  readonly keychain_expired: boolean;
  /** Count only. */
  readonly dry_run: boolean;
}

export const DEFAULT_POLICY: CleanupPolicy = {
  command_retention_days: 7,
  runtime_stale_minutes: 60,
  event_retention_days: 0,
  outbox_retention_hours: 24,
  result_retention_days: 30,
  transient_retention_days: 7,
  snapshot_retention_days: 7,
  dedup_max_age_days: 7,
  idempotency_retention_days: 0,
  keychain_expired: true,
  dry_run: false,
};

/** Beyond this an interval no longer fits a date. */
const LONGEST = 1_000_000;

/** Absent fields have their defaults, unknown ones are ignored. */
export function readPolicy(value: Json | undefined): CleanupPolicy {
  const given = value ?? {};
  if (!isObject(given)) throw new ApiProblem('invalid', 'A cleanup policy must be a JSON object');
  const read = Object.entries(DEFAULT_POLICY).map(([field, fallback]) => [
    field,
    readField(field, given[field] ?? fallback, fallback),
  ]);
  return Object.fromEntries(read) as CleanupPolicy;
}

function readField(field: string, value: Json, fallback: number | boolean): number | boolean {
  if (typeof fallback === 'boolean') {
    if (typeof value !== 'boolean') throw new ApiProblem('invalid', `field '${field}' must be true or false`);
    return value;
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new ApiProblem('invalid', `field '${field}' must be an integer`);
  }
  return Math.min(value, LONGEST);
}
