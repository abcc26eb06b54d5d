// What a template can see. Roots are looked up one by one when a template touches them, so a large context costs nothing
// until it is read. Later sources hide earlier ones: workload, step values, ctx, then the reserved names.

import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Scope, synonym, tolerant } from '../template/index.js';
import type { ExecutionState, StepState } from './state.js';

/** What the world hands to the engine: it has no clock, no ids and no environment of its own. */
export interface Globals {
  readonly now: string;
  /** Allow-listed environment variables, server URL and the like, by root name. */
  readonly values: JsonObject;
}

export function executionScope(state: ExecutionState, globals: Globals, locals: Record<string, unknown> = {}): Scope {
  const reserved = (name: string): unknown => {
    switch (name) {
      case 'workload':
        return state.workload;
      case 'ctx':
      case 'vars':
        return merged(state);
      case 'steps':
        return envelopes(state);
      case 'execution_id':
        return state.executionId;
      case 'catalog_id':
        return state.catalogId;
      case 'job':
        return { uuid: state.executionId, id: state.executionId, execution_id: state.executionId };
      case '__now__':
        return globals.now;
      default:
        return undefined;
    }
  };
  return {
    get(name) {
      if (Object.hasOwn(locals, name)) return locals[name];
      const value = reserved(name);
      if (value !== undefined) return value;
      if (name in state.ctx) return state.ctx[name];
      const step = state.steps[name];
      if (step?.hasData) return tolerant(step.data);
      if (Object.hasOwn(state.workload, name)) return state.workload[name];
      if (name === 'path') return state.path;
      if (Object.hasOwn(globals.values, name)) return globals.values[name];
      // What the step before this one returned, unless the author uses the name for something else.
      return name === 'result' || name === 'response' ? tolerant(lastValue(state)) : undefined;
    },
  };
}

function lastValue(state: ExecutionState): Json {
  return state.lastStep === null ? null : (state.steps[state.lastStep]?.data ?? null);
}

/** Just these names, as plain JSON, for a worker that renders templates itself. Names that mean nothing here are left out. */
export function contextOf(
  state: ExecutionState,
  globals: Globals,
  names: Iterable<string>,
  locals: Record<string, unknown>,
): JsonObject {
  const context: JsonObject = {};
  for (const name of names) {
    const value = plainRoot(state, globals, name, locals);
    if (value !== undefined) context[name] = value;
  }
  return { ...context, execution_id: state.executionId };
}

function plainRoot(
  state: ExecutionState,
  globals: Globals,
  name: string,
  locals: Record<string, unknown>,
): Json | undefined {
  if (Object.hasOwn(locals, name)) return locals[name] as Json;
  if (name === 'ctx' || name === 'vars') return flatContext(state);
  if (name === 'steps')
    return Object.fromEntries(Object.entries(state.steps).map(([step, { data }]) => [step, { data }]));
  if (name in state.ctx) return state.ctx[name];
  const step = state.steps[name];
  if (step?.hasData) return step.data;
  if (name === 'result' || name === 'response') return lastValue(state);
  const value = executionScope(state, globals).get(name);
  return value === undefined ? undefined : (value as Json);
}

/** `ctx` also reads step values and the workload: playbooks of every dialect rely on it. */
function merged(state: ExecutionState): Record<string, unknown> {
  const all: Record<string, unknown> = Object.assign(Object.create(null), state.workload);
  for (const [name, step] of Object.entries(state.steps)) if (step.hasData) all[name] = tolerant(step.data);
  return Object.assign(all, state.ctx);
}

/** The same as plain JSON, for a script that asks for its whole `context`. */
export function flatContext(state: ExecutionState): JsonObject {
  const all: JsonObject = { ...state.workload };
  for (const [name, step] of Object.entries(state.steps)) if (step.hasData) all[name] = step.data;
  return { ...all, ...state.ctx, execution_id: state.executionId, workload: state.workload };
}

function envelopes(state: ExecutionState): Record<string, unknown> {
  const all: Record<string, unknown> = Object.create(null);
  for (const [name, step] of Object.entries(state.steps)) if (step.run > 0) all[name] = outputOf(step);
  return all;
}

const OK_WORDS = ['ok', 'success', 'completed', 'done'];
const ERROR_WORDS = ['error', 'failed', 'failure'];
const DONE_EVENTS = ['call.done', 'step.done', 'step.exit', 'command.completed'];
const ERROR_EVENTS = ['call.error', 'step.failed', 'command.failed'];

/** The outcome of a step as its arcs and its `set` see it: one envelope, whichever dialect they are written in. */
export function outcomeLocals(name: string, step: StepState, looped = false): Record<string, unknown> {
  const failed = step.error !== null;
  const output = outputOf(step);
  const value = tolerant(step.data);
  return {
    output: tolerant(output),
    outcome: tolerant(output),
    result: value,
    response: value,
    error: failed ? errorOf(step) : null,
    args: step.args,
    step: step.vars,
    step_name: name,
    event: {
      name: failed
        ? synonym('call.error', ERROR_EVENTS)
        : looped
          ? synonym('loop.done', ['loop.done', ...DONE_EVENTS])
          : synonym('call.done', DONE_EVENTS),
      type: failed ? 'command.failed' : 'command.completed',
      step: name,
      status: failed ? synonym('error', ERROR_WORDS) : synonym('ok', OK_WORDS),
      error: step.error,
      payload: step.data,
      timestamp: step.finishedAt,
    },
  };
}

function outputOf(step: StepState): Record<string, unknown> {
  const failed = step.error !== null;
  const http = step.toolKind === 'http' && isObject(step.data) ? step.data : undefined;
  return {
    status: failed ? synonym('error', ERROR_WORDS) : synonym('ok', OK_WORDS),
    ok: !failed,
    data: tolerant(step.data),
    response: tolerant(step.data),
    result: tolerant(step.data),
    error: failed ? errorOf(step) : null,
    meta: { attempt: step.attempt },
    ...(http === undefined ? {} : { http: { status: http.status_code ?? null, headers: http.headers ?? {} } }),
  };
}

function errorOf(step: StepState): Json {
  const info = step.info;
  if (info === null) return { kind: 'unknown', retryable: false, code: 'UNKNOWN', message: step.error ?? '' };
  const status = info.http_status;
  return { ...(info as unknown as JsonObject), ...(status === undefined ? {} : { status, status_code: status }) };
}
