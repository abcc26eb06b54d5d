// Work that needs no worker: a wait for time or for a signal, and a child execution. The command is issued like any other, but stays with
// the control plane until what it waits for has happened, so waiting holds no worker's slot and survives every process.
import { type Id, parseId } from '../ids/index.js';
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { addMs, parseDurationMs, parseTime } from './clock.js';
import type { ChildPark, Park, WaitPark } from './events.js';
import { StepError } from './step-error.js';

/** Executions that start executions: deeper than this is a playbook that calls itself. */
export const MAX_DEPTH = 16;

export const PARKED_KINDS = ['wait', 'playbook'] as const;
export type ParkedKind = (typeof PARKED_KINDS)[number];

export function isParkedKind(kind: string): kind is ParkedKind {
  return kind === 'wait' || kind === 'playbook';
}

export interface ParkWorld {
  readonly now: string;
  readonly depth: number;
  nextId(): Id;
}

/** `config` is the tool's rendered configuration, `args` its rendered input. Throws a StepError that names the field. */
export function parkOf(kind: ParkedKind, config: JsonObject, args: JsonObject, world: ParkWorld): Park {
  switch (kind) {
    case 'wait':
      return waitOf(config, world);
    case 'playbook':
      return childOf(config, args, world);
  }
}

function waitOf(config: JsonObject, { now }: ParkWorld): WaitPark {
  const signal = config.signal ?? null;
  if (signal !== null && (typeof signal !== 'string' || signal.trim() === ''))
    throw new StepError('schema', 'INVALID_WAIT', 'wait: `signal` must be a name');
  const time = timeOf(config, now);
  if (signal === null) {
    if (time === null) {
      const message = 'wait: one of `for`, `until` and `signal` must say what to wait for';
      throw new StepError('schema', 'INVALID_WAIT', message);
    }
    return { kind: 'wait', signal: null, dueAt: time, onDue: 'continue' };
  }
  const limit = durationOf('timeout', config.timeout ?? config.timeout_seconds);
  const onDue = config.on_timeout ?? 'fail';
  if (onDue !== 'fail' && onDue !== 'continue') {
    const message = `wait: \`on_timeout\` must be fail or continue (got '${String(onDue)}')`;
    throw new StepError('schema', 'INVALID_WAIT', message);
  }
  // With a signal, `for` and `until` say how long it may take.
  return { kind: 'wait', signal: signal.trim(), dueAt: limit === null ? time : addMs(now, limit), onDue };
}

function timeOf(config: JsonObject, now: string): string | null {
  if (config.until !== undefined && config.until !== null) {
    const until = parseTime(config.until);
    if (until !== undefined) return until;
    const message = `wait: \`until\` is not a time: ${JSON.stringify(config.until)}; write 2030-01-31T08:00:00Z`;
    throw new StepError('schema', 'INVALID_WAIT', message);
  }
  const ms = durationOf('for', config.for);
  return ms === null ? null : addMs(now, ms);
}

function durationOf(field: string, value: Json | undefined): number | null {
  if (value === undefined || value === null) return null;
  const ms = parseDurationMs(value);
  if (ms !== undefined) return ms;
  const message = `\`${field}\` is not a duration: ${JSON.stringify(value)}; write seconds, or 90s, 15m, 2h, 1d`;
  throw new StepError('schema', 'INVALID_DURATION', message);
}

function childOf(config: JsonObject, args: JsonObject, world: ParkWorld): ChildPark {
  if (world.depth >= MAX_DEPTH) {
    const message = `a playbook may start playbooks at most ${MAX_DEPTH} levels deep; does this one start itself?`;
    throw new StepError('schema', 'TOO_DEEP', message);
  }
  const path = typeof config.path === 'string' && config.path.trim() !== '' ? config.path.trim() : null;
  const catalogId = parseId(config.catalog_id) ?? null;
  if (path === null && catalogId === null)
    throw new StepError('schema', 'NO_PLAYBOOK', "Either 'path' or 'catalog_id' must be provided");
  const returnStep = [config.return_step, config.result_step].find((step) => typeof step === 'string' && step !== '');
  const limit = durationOf('timeout', config.timeout ?? config.timeout_seconds);
  const wait = returnStep !== undefined || isYes(config.return_result) || isYes(config.wait);
  return {
    kind: 'child',
    executionId: world.nextId(),
    path,
    catalogId,
    version: config.version ?? null,
    // What the step hands over wins over the older `payload` and `workload`.
    payload: { ...objectOf(config.workload), ...objectOf(config.payload), ...args },
    wait,
    returnStep: typeof returnStep === 'string' ? returnStep : null,
    dueAt: wait && limit !== null ? addMs(world.now, limit) : null,
  };
}

function isYes(value: Json | undefined): boolean {
  return value === true || value === 'true' || value === 'True';
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
