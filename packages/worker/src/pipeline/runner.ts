// Runs the tasks of one command in order. After each execution the task's `set` and its policy decide where to go next:
// on, the same task again, another task, or out. A long wait ends the run too: it goes on later from its progress. What must
// stay true: an abort ends it at the next await, the number of executions is bounded, and a loop of instant tasks never keeps
// the worker from its heartbeat.
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises';
import { isObject, type Json, tolerant } from '@noetl/core';
import { raisedError } from '../tools/errors.js';
import type { ToolCall } from '../tools/tool.js';
import { type Assignment, namingTask } from './compile.js';
import { type Execution, envelopeOf, errorInfoOf, errorTextOf } from './envelope.js';
import { type Failure, failedByRule, jumpTargetMissing, retriesExhausted, tooManyExecutions } from './failure.js';
import { type Decision, decide, matchingRule } from './policy.js';
import type { Progress, Tally } from './progress.js';
import { retryDelayMs } from './retry-delay.js';
import { runTask } from './run-task.js';
import { localsOf, type Task, type Visit } from './task.js';
import type { Variables } from './variables.js';

export interface RunOptions {
  readonly maxExecutions: number;
  readonly random: () => number;
  readonly now: () => Date;
  /** A longer wait is not spent in the worker. */
  readonly suspendAfterMs: number;
}

export interface Ending {
  /** The last execution; absent when none took place. */
  readonly last?: Execution;
  readonly failed?: { readonly index: number; readonly failure: Failure };
}

/** The list goes on after `delayMs`, from the progress it has made. */
export interface Pause {
  readonly delayMs: number;
  readonly reason: string;
}

const PREVIOUS: ReadonlySet<string> = new Set(['previous', 'prev', '_previous', '@previous']);
const BREATHE_EVERY_MS = 10;

export async function runTasks(
  call: ToolCall,
  tasks: readonly Task[],
  variables: Variables,
  options: RunOptions,
  progress: Progress,
): Promise<Ending | Pause> {
  const { tallies } = progress;
  let last: Execution | undefined;
  let breathedAt = performance.now();
  const ended = (failure?: Failure): Ending => ({
    ...(last === undefined ? {} : { last }),
    ...(failure === undefined ? {} : { failed: { index: progress.index, failure } }),
  });

  for (;;) {
    const { index, inside } = progress;
    const task = tasks[index];
    const tally = tallies[index];
    if (task === undefined || tally === undefined) return ended();
    if (inside === undefined && progress.executions >= options.maxExecutions)
      return ended(tooManyExecutions(options.maxExecutions));
    if (performance.now() - breathedAt > BREATHE_EVERY_MS) {
      await breathe();
      breathedAt = performance.now();
    }
    call.signal.throwIfAborted();

    if (inside === undefined) {
      progress.executions += 1;
      tally.executions += 1;
    }
    const startedAt = inside?.startedAt ?? options.now();
    const visit: Visit = { ...placeOf(call, task, tally), startedAt, resume: inside?.state };
    const execution = await runTask(task, call, variables, visit, options.now);
    if ('status' in execution) {
      const { delayMs, reason, state } = execution;
      progress.inside = { startedAt, state };
      return { delayMs, reason: `task '${task.label}' ${reason}` };
    }
    progress.inside = undefined;
    last = execution;
    const succeeded = execution.result.status === 'success';
    variables.record(task.label, execution.result.data ?? null, succeeded);
    const decision = await judge(task, call, execution, variables);

    if ('failure' in decision) return ended(decision.failure);
    if (decision.do === 'retry') {
      if (tally.executions >= decision.attempts) {
        return ended(succeeded ? retriesExhausted(task.label, tally.executions) : failureOf(execution));
      }
      if (succeeded) tally.rounds += 1;
      const delayMs = delayBeforeRetry(call, task, execution, decision, tally.executions, options.random);
      // At its limit the list is about to fail with what it has: it must not forget that on the way.
      if (delayMs > options.suspendAfterMs && progress.executions < options.maxExecutions)
        return { delayMs, reason: `task '${task.label}' is tried again` };
      // An abort ends the wait early; the loop sees it before it runs anything.
      if (delayMs > 0) await pause(delayMs, undefined, { signal: call.signal }).catch(() => undefined);
      continue;
    }
    if (decision.do === 'fail') return ended(succeeded ? failedByRule(index, task.label) : failureOf(execution));
    if (decision.do === 'break') return ended();

    tally.rounds += 1;
    if (succeeded) tally.executions = 0;
    if (decision.do === 'continue') {
      progress.index += 1;
      continue;
    }
    const target = PREVIOUS.has(decision.to) ? index - 1 : tasks.findIndex(({ label }) => label === decision.to);
    if (target < 0) return ended(jumpTargetMissing(task.label, decision.to));
    progress.index = target;
  }
}

/** Applies the task's `set`, then the first rule that matches. A template that fails in there fails the sequence. */
async function judge(
  task: Task,
  call: ToolCall,
  execution: Execution,
  variables: Variables,
): Promise<Decision | { failure: Failure }> {
  const { result, attempt, input } = execution;
  const failed = result.status !== 'success';
  const own = localsOf(task, call, input, attempt);
  // Each may be evaluated more than once, when it needs a stored result; what it decides is applied once.
  const evaluate: Evaluate = (work) => call.results.resolving(() => namingTask(task.label, work));
  try {
    if (!failed) {
      const data = tolerant(result.data);
      await assign(task.set, variables, { ...own, output: data, result: data, response: data }, evaluate);
    }
    const output = tolerant(envelopeOf(execution));
    const locals = { ...own, output, outcome: output };
    const rule = await evaluate(() => matchingRule(task.rules, variables.scope(locals)));
    await assign(rule?.set ?? [], variables, locals, evaluate);
    return await evaluate(() => decide(rule, failed, variables.scope(locals)));
  } catch (error) {
    // A broken rule must not hide why the task failed.
    return { failure: failed ? failureOf(execution, error) : raisedError(error, task.kind) };
  }
}

type Evaluate = <T>(work: () => T) => Promise<T>;

/** All values first: they see the context as it was before this `set`. */
async function assign(
  entries: readonly Assignment[],
  variables: Variables,
  locals: Record<string, unknown>,
  evaluate: Evaluate,
): Promise<void> {
  if (entries.length === 0) return;
  const scope = variables.scope(locals);
  const values = await evaluate(() => entries.map(({ key, value }): [string, Json] => [key, value.render(scope)]));
  for (const [key, value] of values) variables.assign(key, value);
}

function placeOf(call: ToolCall, task: Task, tally: Tally): Pick<Visit, 'attempt' | 'idempotencyKey'> {
  const round = tally.rounds === 1 ? '' : `:${tally.rounds}`;
  const key = call.meta['single'] === true ? call.commandId : `${call.commandId}:${task.label}`;
  return { attempt: tally.executions, idempotencyKey: `${key}${round}` };
}

function delayBeforeRetry(
  call: ToolCall,
  task: Task,
  execution: Execution,
  { backoff, delaySeconds }: Extract<Decision, { do: 'retry' }>,
  retry: number,
  random: () => number,
): number {
  const retryAfterSeconds = execution.result.error_info?.retry_after;
  const ms = retryDelayMs({ backoff, delaySeconds, retry, retryAfterSeconds, random });
  call.log.debug({ command_id: call.commandId, task: task.label, retry, delay_ms: ms }, 'task is retried');
  return ms;
}

function failureOf(execution: Execution, cause?: unknown): Failure {
  const error = errorTextOf(execution.result);
  const info = errorInfoOf(execution);
  if (cause === undefined) return { error, error_info: info };
  const rule = raisedError(cause, execution.kind).error;
  const details = isObject(info.details) ? info.details : {};
  return {
    error: `${error} (and its policy: ${rule})`,
    error_info: { ...info, details: { ...details, policy: rule } },
  };
}
