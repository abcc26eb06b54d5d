// The tool kind `task_sequence`: an ordered list of tasks that one command runs, with policy rules. The same code runs a
// single tool that has a policy; its result then looks like that of the plain tool. A list that has to wait long suspends itself with all it
// knows, and goes on from there: nothing that has succeeded runs again.
import type { JsonObject } from '@noetl/core';
import type { Tool, ToolAnswer, ToolCall, ToolResult } from '../tools/tool.js';
import { unreadableState } from './failure.js';
import { freshProgress, readSavedState, type Saved, savedState } from './progress.js';
import { type Ending, type RunOptions, runTasks } from './runner.js';
import { readTasks, TASK_SEQUENCE, type Task } from './task.js';
import { createVariables, emptyMemory, type Variables } from './variables.js';

export interface TaskSequenceOptions {
  /** Executions of tasks in one command; a jump that never ends is stopped by it. */
  readonly maxExecutions?: number;
  /** A retry that has to wait longer than this gives the worker's slot back. */
  readonly suspendAfterMs?: number;
  readonly random?: () => number;
  readonly now?: () => Date;
}

const MAX_EXECUTIONS = 1_000_000;
/** Below this, giving a command back and leasing it again costs more than it frees. */
const SUSPEND_AFTER_MS = 5_000;

export function createTaskSequenceTool(options: TaskSequenceOptions = {}): Tool<ToolAnswer> {
  const now = options.now ?? (() => new Date());
  const run: RunOptions = {
    maxExecutions: options.maxExecutions ?? maxExecutionsOf(process.env),
    random: options.random ?? Math.random,
    suspendAfterMs: options.suspendAfterMs ?? SUSPEND_AFTER_MS,
    now,
  };
  return {
    kind: TASK_SEQUENCE,
    async run(call) {
      const tasks = readTasks(call.config);
      const list = goOn(call, tasks) ?? begin(tasks, now());
      const variables = createVariables(call, now, list.memory);
      const end = await runTasks(call, tasks, variables, run, list.progress);
      if ('delayMs' in end) return { status: 'suspended', ...end, state: savedState(list) };
      const result = isSingle(call) ? singleResult(end, variables) : listResult(end, variables);
      return { ...result, duration_ms: Math.max(0, now().getTime() - list.startedAt.getTime()) };
    },
  };
}

function begin(tasks: readonly Task[], startedAt: Date): Saved {
  return { startedAt, progress: freshProgress(tasks), memory: emptyMemory() };
}

/** A state that this version cannot read means to begin anew, as after a lost lease: with what is not safe to do twice, not at all. */
function goOn(call: ToolCall, tasks: readonly Task[]): Saved | undefined {
  if (call.resume === undefined) return undefined;
  const saved = readSavedState(call.resume, tasks);
  if (saved !== undefined) return saved;
  if (call.meta['idempotent'] === false) throw unreadableState();
  const ids = { execution_id: call.executionId, command_id: call.commandId };
  call.log.warn(ids, 'a list of tasks starts from its beginning: its saved state cannot be read');
  return undefined;
}

function isSingle(call: ToolCall): boolean {
  return call.meta['single'] === true;
}

function listResult({ last, failed }: Ending, variables: Variables): ToolResult {
  const results = variables.results();
  const updates = variables.updates();
  const common: JsonObject = {
    _pipeline: variables.finished(),
    ...(Object.keys(updates).length === 0 ? {} : { _context_updates: updates }),
  };
  const { stdout, stderr, exit_code, truncated } = last?.result ?? {};
  const printed = {
    ...(stdout === undefined ? {} : { stdout }),
    ...(stderr === undefined ? {} : { stderr }),
    ...(exit_code === undefined ? {} : { exit_code }),
    ...(truncated === undefined ? {} : { truncated }),
  };
  if (failed === undefined) return { status: 'success', data: { ...results, ...common }, ...printed };
  const data: JsonObject = { labeled_results: results, failed_task: failed.index, ...common };
  return { status: 'error', data, ...failed.failure, ...printed };
}

function singleResult({ last, failed }: Ending, variables: Variables): ToolResult {
  const updates = variables.updates();
  const carried = Object.keys(updates).length === 0 ? {} : { context_updates: updates };
  const { error: _, error_info: __, ...result } = last?.result ?? { status: 'success' };
  if (failed === undefined) return { ...result, status: 'success', ...carried };
  const status = last?.result.status === 'timeout' ? 'timeout' : 'error';
  return { ...result, status, ...failed.failure, ...carried };
}

function maxExecutionsOf(env: NodeJS.ProcessEnv): number {
  const declared = Number(env['NOETL_TASK_SEQUENCE_MAX_ITERATIONS']);
  return Number.isInteger(declared) && declared > 0 ? declared : MAX_EXECUTIONS;
}
