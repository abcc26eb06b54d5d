// Starts another playbook as a task of a list and, when the author wants its data, waits for its end. A child that ends soon is waited for
// in place; a longer one is looked at now and then, without a worker's slot in between. Started again under the same key, the child is the
// same: a worker that dies in the middle leaves no twin behind.
import { createHash } from 'node:crypto';
import type { ExecuteRequest, StatusResponse } from '@noetl/client';
import { isObject, type Json, type JsonObject, parseId } from '@noetl/core';
import { describeFailure, refusesBody } from '../api.js';
import { pause, persist } from '../backoff.js';
import { booleanOf, firstOf, optionalText } from './config.js';
import { configurationError, ToolError } from './errors.js';
import { CommandAborted, type Suspension, type Tool, type ToolAnswer, type ToolCall, type ToolResult } from './tool.js';

export interface PlaybookOptions {
  /** Pauses between looks at the child while the slot is held. */
  readonly looksMs?: readonly number[];
  /** How long the slot is given back for: the first time, the second time, …; the last one stays. */
  readonly delaysMs?: readonly number[];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const KIND = 'playbook';
/** About three seconds: most children end sooner, and giving a command back costs more than this. */
const LOOKS_MS = [50, 100, 200, 400, 800, 1_450];
const DELAYS_MS = [2_000, 5_000, 10_000, 15_000];
/** Longest key that the server takes. */
const MAX_KEY = 255;
/** An aborted tool must end soon; a server that is away learns of the cancelled parent by itself. */
const CANCEL_WAIT_MS = 5_000;

/** A type alias, because it is kept as JSON while the tool is suspended. */
type Child = {
  readonly execution_id: string;
  readonly path: string | null;
  /** Milliseconds since 1970; null when it may take as long as it likes. */
  readonly deadline: number | null;
  /** How often the slot was given back. */
  readonly suspended: number;
};

export function createPlaybookTool(options: PlaybookOptions = {}): Tool<ToolAnswer> {
  const { looksMs = LOOKS_MS, delaysMs = DELAYS_MS, now = Date.now } = options;

  async function waitForEnd(call: ToolCall, child: Child, returnStep: string | undefined): Promise<ToolAnswer> {
    const { signal, timeoutMs } = call;
    const timeLeft = () => (child.deadline === null ? Number.POSITIVE_INFINITY : Math.max(0, child.deadline - now()));
    for (const lookMs of [...looksMs, undefined]) {
      const status = await statusOf(call, child);
      switch (status.status) {
        case 'COMPLETED':
          return { status: 'success', data: describe(child, 'completed', await dataOf(call, child, returnStep)) };
        case 'FAILED':
          return failed(child, 'CHILD_FAILED', 'failed', status.error);
        case 'CANCELLED':
          return failed(child, 'CHILD_CANCELLED', 'cancelled', status.error);
        case 'PENDING':
        case 'RUNNING':
          break;
      }
      if (timeLeft() === 0) {
        await cancel(call, child, 'the task that waits for it timed out');
        return timedOut(child, timeoutMs);
      }
      if (lookMs !== undefined) await pause(Math.min(lookMs, timeLeft()), signal);
      signal.throwIfAborted();
    }
    const delayMs = delaysMs[Math.min(child.suspended, delaysMs.length - 1)] ?? 0;
    return suspension({ ...child, suspended: child.suspended + 1 }, Math.min(delayMs, timeLeft()));
  }

  return {
    kind: KIND,
    // The child looks through them by itself; their contents could be more than a start request may hold.
    takesReferences: true,
    async run(call) {
      const returnStep = returnStepOf(call.config);
      const wanted = returnStep !== undefined || isWanted(call.config);
      const child = readChild(call.resume) ?? (await start(call, wanted, now));
      if (!wanted) return { status: 'success', data: { ...describe(child, 'started'), async: true } };
      try {
        call.signal.throwIfAborted();
        return await waitForEnd(call, child, returnStep);
      } catch (error) {
        if (isCancelled(call.signal)) await cancel(call, child, 'the task that waits for it was cancelled');
        throw error;
      }
    },
  };
}

async function start(call: ToolCall, wanted: boolean, now: () => number): Promise<Child> {
  const { executions, log, signal, timeoutMs } = call;
  const request = requestOf(call);
  const idempotencyKey = keyOf(call);
  const ids = { execution_id: call.executionId, command_id: call.commandId };
  try {
    // Without the signal: the answer to a request that was sent tells which child to cancel.
    const started = await persist(
      () => executions.execute(request, { idempotencyKey }),
      signal,
      (failure) => log.warn({ ...ids, reason: failure.message }, 'a playbook could not be started yet'),
      (failure) => refusesBody(failure) || failure.status === 404,
    );
    return {
      execution_id: started.execution_id,
      path: started.path ?? request.path ?? null,
      deadline: wanted && timeoutMs !== undefined ? now() + timeoutMs : null,
      suspended: 0,
    };
  } catch (error) {
    const failure = describeFailure(error);
    if (failure.status === undefined) throw error;
    const name = request.path ?? request.catalog_id;
    const message = `playbook '${name}' could not be started: ${failure.message}`;
    throw new ToolError(message, { kind: 'child', retryable: false, code: 'CHILD_FAILED', source: KIND });
  }
}

function requestOf({ config, input, executionId }: ToolCall): ExecuteRequest {
  const path = optionalText(KIND, config, 'path')?.trim();
  const catalogId = parseId(config['catalog_id']);
  if ((path === undefined || path === '') && catalogId === undefined)
    throw configurationError(KIND, "either 'path' or 'catalog_id' is required");
  const version = firstOf(config, 'version');
  if (version !== undefined && typeof version !== 'number' && typeof version !== 'string')
    throw configurationError(KIND, 'version must be a number, or latest');
  return {
    ...(path === undefined || path === '' ? {} : { path }),
    ...(catalogId === undefined ? {} : { catalog_id: catalogId }),
    ...(version === undefined ? {} : { version }),
    // What the task hands over wins over the older `payload` and `workload`.
    payload: { ...objectOf(config['workload']), ...objectOf(config['payload']), ...input },
    parent_execution_id: executionId,
  };
}

/** The same attempt finds the child it has started; another attempt, after that child has ended, starts a new one. */
function keyOf({ idempotencyKey, commandId, attempt }: ToolCall): string {
  const key = `${idempotencyKey ?? commandId}${attempt > 1 ? `:attempt-${attempt}` : ''}`;
  return key.length <= MAX_KEY ? key : createHash('sha256').update(key).digest('hex');
}

function statusOf({ executions, signal, log }: ToolCall, child: Child): Promise<StatusResponse> {
  return persist(
    () => executions.status(child.execution_id, { signal }),
    signal,
    (failure) => log.warn({ execution_id: child.execution_id, reason: failure.message }, 'a child cannot be seen yet'),
    (failure) => refusesBody(failure) || failure.status === 404,
  );
}

/** The data of the step that was asked for, else of the one that ended last. */
async function dataOf(call: ToolCall, child: Child, returnStep: string | undefined): Promise<Json> {
  const { executions, signal, log } = call;
  const { steps, result } = await persist(
    () => executions.childResult(child.execution_id, { signal }),
    signal,
    (failure) => log.warn({ execution_id: child.execution_id, reason: failure.message }, 'a child cannot be read yet'),
    (failure) => refusesBody(failure) || failure.status === 404,
  );
  return (returnStep !== undefined && Object.hasOwn(steps, returnStep) ? steps[returnStep] : result) ?? null;
}

async function cancel({ executions, log }: ToolCall, { execution_id }: Child, reason: string): Promise<void> {
  try {
    await executions.cancel(execution_id, { reason }, { signal: AbortSignal.timeout(CANCEL_WAIT_MS) });
  } catch (error) {
    log.warn({ execution_id, reason: describeFailure(error).message }, 'a child could not be cancelled');
  }
}

function suspension(child: Child, delayMs: number): Suspension {
  return { status: 'suspended', delayMs, state: child, reason: `waits for ${nameOf(child)}` };
}

function failed(
  child: Child,
  code: 'CHILD_FAILED' | 'CHILD_CANCELLED',
  status: 'failed' | 'cancelled',
  error: string | null,
): ToolResult {
  const word = status === 'failed' ? 'failed' : 'was cancelled';
  const message = `${nameOf(child)} ${word}${error === null ? '' : `: ${error}`}`;
  const details = { execution_id: child.execution_id };
  return {
    status: 'error',
    data: describe(child, status),
    error: message,
    error_info: { kind: 'child', retryable: false, code, message, source: KIND, details },
  };
}

function timedOut(child: Child, timeoutMs: number | undefined): ToolResult {
  const limit = timeoutMs === undefined ? 'in time' : `within ${timeoutMs / 1000} seconds`;
  const message = `${nameOf(child)} did not end ${limit}; it is cancelled`;
  const details = { execution_id: child.execution_id };
  return {
    status: 'timeout',
    data: describe(child, 'timeout'),
    error: message,
    error_info: { kind: 'timeout', retryable: false, code: 'TIMEOUT', message, source: KIND, details },
  };
}

function describe({ execution_id, path }: Child, status: string, data?: Json): JsonObject {
  return { status, execution_id, path, ...(data === undefined ? {} : { data }) };
}

function nameOf({ execution_id, path }: Child): string {
  return `execution ${execution_id}${path === null ? '' : ` of '${path}'`}`;
}

function returnStepOf(config: JsonObject): string | undefined {
  const step = optionalText(KIND, config, 'return_step') || optionalText(KIND, config, 'result_step');
  return step || undefined;
}

function isWanted(config: JsonObject): boolean {
  return booleanOf(KIND, config, false, 'return_result') || booleanOf(KIND, config, false, 'wait');
}

/** A command that was lost or released goes on elsewhere, and its child with it. */
function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof CommandAborted && reason.why === 'cancelled';
}

function readChild(state: Json | undefined): Child | undefined {
  if (!isObject(state)) return undefined;
  const { execution_id, path, deadline, suspended } = state;
  if (typeof execution_id !== 'string' || typeof suspended !== 'number') return undefined;
  return {
    execution_id,
    path: typeof path === 'string' ? path : null,
    deadline: typeof deadline === 'number' ? deadline : null,
    suspended,
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
