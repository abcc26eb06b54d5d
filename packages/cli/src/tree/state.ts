// What the step tree shows, folded from the event stream of one execution. Pure: the same events give the same tree, so the
// renderers are tested without an execution. Unknown events are ignored; an event seen twice (a stream that reconnects) changes
// nothing.
import type { ExecutionStatus, WireEvent } from '@noetl/client';
import { isErrorStatus, type Json, type JsonObject } from '@noetl/core';

export type StepState = 'waiting' | 'running' | 'retrying' | 'done' | 'failed' | 'handled' | 'skipped' | 'cancelled';

export interface StepNode {
  readonly name: string;
  readonly state: StepState;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Visits of this step; above 1 in a cycle. */
  readonly visits: number;
  /** Attempt of the current command. */
  readonly attempt: number;
  readonly loop?: { readonly done: number; readonly failed: number; readonly total?: number };
  /** What a step that no worker runs waits for. */
  readonly waitsFor?: string;
  readonly error?: string;
  readonly errorEventId?: string;
}

export interface TreeState {
  readonly executionId: string;
  readonly path: string;
  readonly status: ExecutionStatus;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly error?: string;
  /** In the order in which they were first reached. */
  readonly steps: readonly StepNode[];
  /** Highest `stream_version` seen. */
  readonly version: number;
}

export function emptyTree(executionId: string, path: string): TreeState {
  return { executionId, path, status: 'PENDING', steps: [], version: 0 };
}

export function reduceEvent(tree: TreeState, event: WireEvent): TreeState {
  if (event.stream_version <= tree.version) return tree;
  const seen = { ...tree, version: event.stream_version };
  const at = Date.parse(event.created_at);
  const playbook = reducePlaybookEvent(seen, event, at);
  if (playbook !== undefined) return playbook;
  const name = event.node_name;
  return name === null ? seen : reduceStepEvent(seen, name, event, at);
}

/** A status message carries no version: it only ever ends a tree that missed its last event. */
export function reduceStatus(tree: TreeState, status: ExecutionStatus): TreeState {
  if (isTerminal(tree.status) || status === tree.status) return tree;
  return isTerminal(status) ? finish(tree, status, undefined, {}) : { ...tree, status };
}

export function isTerminal(status: ExecutionStatus): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

function reducePlaybookEvent(tree: TreeState, event: WireEvent, at: number): TreeState | undefined {
  switch (event.event_type) {
    case 'playbook_started':
    case 'playbook.started':
      return { ...tree, status: 'RUNNING', startedAt: at };
    case 'playbook.completed':
    case 'playbook_completed':
      return finish(tree, 'COMPLETED', at, {});
    case 'playbook.failed':
    case 'playbook_failed': {
      const error = errorText(event);
      return finish(tree, 'FAILED', at, error === undefined ? {} : { error });
    }
    case 'playbook.cancelled':
    case 'playbook_cancelled':
    case 'execution.cancelled':
      return finish(tree, 'CANCELLED', at, {});
    default:
      return undefined;
  }
}

function finish(
  tree: TreeState,
  status: ExecutionStatus,
  at: number | undefined,
  extra: { error?: string },
): TreeState {
  const steps = tree.steps.map((step): StepNode => {
    if (isOpen(step)) {
      // A completed execution has nothing open; then the stream dropped the end of this step, not its work.
      const state = status === 'COMPLETED' ? 'done' : 'cancelled';
      return { ...step, state, ...(at === undefined ? {} : { endedAt: at }) };
    }
    return step.state === 'failed' && status === 'COMPLETED' ? { ...step, state: 'handled' } : step;
  });
  return { ...tree, ...extra, status, steps, ...(at === undefined ? {} : { endedAt: at }) };
}

function isOpen(step: StepNode): boolean {
  return step.state === 'waiting' || step.state === 'running' || step.state === 'retrying';
}

function reduceStepEvent(tree: TreeState, name: string, event: WireEvent, at: number): TreeState {
  const found = tree.steps.find((step) => step.name === name);
  const next = nextStep(found ?? { name, state: 'waiting', visits: 0, attempt: 0 }, event, at);
  if (next === undefined) return tree;
  const steps = found === undefined ? [...tree.steps, next] : tree.steps.map((step) => (step === found ? next : step));
  return { ...tree, steps, status: tree.status === 'PENDING' ? 'RUNNING' : tree.status };
}

/** Undefined: this event says nothing about the step. */
function nextStep(step: StepNode, event: WireEvent, at: number): StepNode | undefined {
  const meta = asObject(event.meta);
  switch (event.event_type) {
    case 'step.enter':
      return enter(step, event, at);
    case 'command.issued': {
      const entered = isOpen(step) || step.state === 'failed' ? step : enter(step, event, at);
      const attempt = asNumber(meta['attempt']) ?? 1;
      const { error: _error, errorEventId: _id, endedAt: _end, ...open } = entered;
      const waitsFor = parkedWords(asObject(asObject(event.context)['park']));
      const state = attempt > 1 ? 'retrying' : entered.state === 'running' ? 'running' : 'waiting';
      return withLoop({ ...open, attempt, state, ...(waitsFor === undefined ? {} : { waitsFor }) }, meta);
    }
    case 'command.claimed':
    case 'command.started':
      return isOpen(step) ? { ...step, state: 'running' } : undefined;
    case 'command.requeued':
      return {
        ...step,
        state: 'retrying',
        attempt: asNumber(meta['attempt']) ?? asNumber(contextOf(event)['attempt']) ?? step.attempt,
      };
    case 'command.completed':
      // A worker that does not raise reports its failures as results.
      if (isErrorStatus(event.status)) return fail(step, event, at);
      if (step.loop === undefined) return close(step, 'done', at);
      // The claim of a cursor is not an item.
      return isItem(event) ? { ...step, loop: { ...step.loop, done: step.loop.done + 1 } } : undefined;
    case 'command.failed':
    case 'step.failed':
      return fail(step, event, at);
    case 'command.cancelled':
      return close(step, 'cancelled', at);
    case 'loop.done':
    case 'step.exit':
      return close(step, event.status === 'FAILED' ? 'failed' : 'done', at);
    case 'step.skipped':
      return { ...step, state: 'skipped', endedAt: at };
    case 'next.evaluated':
      // An error arc was taken: the failure is dealt with and the execution goes on.
      return contextOf(event)['outcome'] === 'handled_failure' && step.state === 'failed'
        ? { ...step, state: 'handled' }
        : undefined;
    default:
      return undefined;
  }
}

function enter(step: StepNode, event: WireEvent, at: number): StepNode {
  const total = asNumber(contextOf(event)['iterations_expected']);
  return {
    name: step.name,
    state: 'waiting',
    startedAt: at,
    visits: step.visits + 1,
    attempt: 1,
    ...(total === undefined ? {} : { loop: { done: 0, failed: 0, total } }),
  };
}

function isItem({ command_id }: WireEvent): boolean {
  return command_id === null || /:i\d+$/.test(command_id);
}

function parkedWords(park: JsonObject): string | undefined {
  const { kind, signal, dueAt, executionId } = park;
  const until = typeof dueAt === 'string' ? ` until ${dueAt.replace(/\.\d+/, '')}` : '';
  if (kind === 'child') return `for execution ${String(executionId)}${until}`;
  if (kind !== 'wait') return undefined;
  return typeof signal === 'string' ? `for signal '${signal}'${until}` : until.trim();
}

function withLoop(step: StepNode, meta: JsonObject): StepNode {
  if (meta['iteration_index'] === undefined && meta['cursor'] === undefined) return step;
  const total = asNumber(meta['iteration_total']) ?? step.loop?.total;
  return {
    ...step,
    loop: { done: step.loop?.done ?? 0, failed: step.loop?.failed ?? 0, ...(total === undefined ? {} : { total }) },
  };
}

function close(step: StepNode, state: StepState, at: number): StepNode {
  return { ...step, state, endedAt: at, startedAt: step.startedAt ?? at };
}

function fail(step: StepNode, event: WireEvent, at: number): StepNode {
  const failure = { error: errorText(event) ?? 'failed', errorEventId: event.event_id };
  // One iteration failed; the loop goes on or ends by an event of its own.
  if (step.loop !== undefined) return { ...step, ...failure, loop: { ...step.loop, failed: step.loop.failed + 1 } };
  return { ...close(step, 'failed', at), ...failure };
}

/** Producers put the payload in `result.context`; the server's own events put some of it in `context`. */
function contextOf(event: WireEvent): JsonObject {
  return { ...asObject(event.context), ...asObject(asObject(event.result)['context']) };
}

function errorText(event: WireEvent): string | undefined {
  return event.error ?? readError(contextOf(event)['error']) ?? readError(asObject(event.meta)['error']);
}

function readError(value: Json | undefined): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  const message = asObject(value)['message'];
  return typeof message === 'string' ? message : undefined;
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function asNumber(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
