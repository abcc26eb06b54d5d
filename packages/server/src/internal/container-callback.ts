// What a cluster says about a container that a step handed over to it: how to read it, and the event that it becomes. Pure.
import { type Id, isObject, type JsonObject, type ProducedEvent } from '@noetl/core';
import { ApiProblem } from '../errors.js';

/** How a container can end, and what that means for the step that waits for it. */
const STATES = {
  succeeded: undefined,
  failed: { kind: 'process', retryable: false, says: 'the container failed' },
  failed_image_pull: { kind: 'configuration', retryable: false, says: 'the image could not be pulled' },
  failed_oom: { kind: 'process', retryable: false, says: 'the container ran out of memory' },
  failed_node_lost: { kind: 'connection', retryable: true, says: 'the node of the container was lost' },
  failed_timeout: { kind: 'timeout', retryable: true, says: 'the container did not end in time' },
} as const;
type ContainerState = keyof typeof STATES;

export interface ContainerEnd {
  readonly state: ContainerState;
  readonly jobName: string;
  readonly jobUid: string | undefined;
  /** The command it was started for, from those who know it. Else it is found by step and job. */
  readonly commandId: string | undefined;
  /** As the log keeps it and later steps read it. */
  readonly data: JsonObject;
}

const TEXTS = ['job_name', 'job_uid', 'completed_at', 'reason', 'stdout_uri', 'stderr_uri', 'command_id'] as const;
const MAX_TEXT = 4_000;

export function readContainerEnd(body: unknown): ContainerEnd {
  if (!isObject(body)) throw new ApiProblem('invalid', 'The body must be a JSON object');
  const states = Object.keys(STATES) as ContainerState[];
  const state = states.find((known) => known === body.state);
  if (state === undefined) throw new ApiProblem('invalid', `field 'state' must be one of ${states.join(', ')}`);
  const texts = Object.fromEntries(TEXTS.map((field) => [field, textOf(body, field)]));
  const { job_name: jobName, job_uid: jobUid, command_id: commandId, ...told } = texts;
  if (jobName === undefined) throw new ApiProblem('invalid', "field 'job_name' must be a non-empty string");
  return {
    state,
    jobName,
    jobUid,
    commandId,
    data: {
      terminal_state: state,
      job_name: jobName,
      job_uid: jobUid ?? null,
      completed_at: told.completed_at ?? null,
      exit_code: exitCodeOf(body),
      reason: told.reason ?? null,
      stdout_uri: told.stdout_uri ?? null,
      stderr_uri: told.stderr_uri ?? null,
    },
  };
}

/** The same for a delivery that is repeated, and for no other one of the execution. */
export function callbackKey(step: string, { jobUid, jobName, state }: ContainerEnd): string {
  return JSON.stringify([step, jobUid ?? jobName, state]);
}

/** @param commandId the command that it ends; null: nobody waits for it, and it only goes on record */
export function containerEvent(
  step: string,
  end: ContainerEnd,
  { eventId, commandId, now }: { eventId: Id; commandId: string | null; now: string },
): ProducedEvent {
  const failure = failureOf(end);
  const status = failure === undefined ? 'COMPLETED' : 'FAILED';
  return {
    event_id: eventId,
    parent_event_id: null,
    parent_execution_id: null,
    event_type: failure === undefined ? 'call.done' : 'call.error',
    node_id: step,
    node_name: step,
    node_type: 'container',
    status,
    command_id: commandId,
    worker_id: null,
    duration: null,
    context: null,
    result: {
      status,
      context: { ...end.data, data: end.data, ...(failure === undefined ? {} : { error_info: failure }) },
    },
    meta: { node_type: 'container' },
    error: failure?.message ?? null,
    created_at: now,
  };
}

function failureOf({ state, jobName, data }: ContainerEnd): (JsonObject & { readonly message: string }) | undefined {
  const failure = STATES[state];
  if (failure === undefined) return undefined;
  const { kind, retryable, says } = failure;
  const code = data.exit_code === null ? '' : ` (exit code ${data.exit_code})`;
  const reason = typeof data.reason === 'string' ? `: ${data.reason}` : '';
  return {
    kind,
    retryable,
    code: `CONTAINER_${state.toUpperCase()}`,
    message: `job ${jobName}: ${says}${code}${reason}`,
  };
}

function textOf(body: JsonObject, field: string): string | undefined {
  const value = body[field] ?? '';
  if (typeof value !== 'string' || value.length > MAX_TEXT)
    throw new ApiProblem('invalid', `field '${field}' must be a string of at most ${MAX_TEXT} characters`);
  return value === '' ? undefined : value;
}

function exitCodeOf(body: JsonObject): number | null {
  const value = body.exit_code ?? null;
  if (value === null || (typeof value === 'number' && Number.isSafeInteger(value))) return value;
  throw new ApiProblem('invalid', "field 'exit_code' must be an integer");
}
