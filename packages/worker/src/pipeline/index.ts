// The tool kind `task_sequence`: an ordered list of tasks that one command runs, with policy rules. The same code runs a
// single tool that has a policy; its result then looks like that of the plain tool.
import type { JsonObject } from '@noetl/core';
import type { Tool, ToolCall, ToolResult } from '../tools/tool.js';
import { type Ending, type RunOptions, runTasks } from './runner.js';
import { readTasks, TASK_SEQUENCE } from './task.js';
import { createVariables, type Variables } from './variables.js';

export interface TaskSequenceOptions {
  /** Executions of tasks in one command; a jump that never ends is stopped by it. */
  readonly maxExecutions?: number;
  readonly random?: () => number;
  readonly now?: () => Date;
}

const MAX_EXECUTIONS = 1_000_000;

export function createTaskSequenceTool(options: TaskSequenceOptions = {}): Tool {
  const run: RunOptions = {
    maxExecutions: options.maxExecutions ?? maxExecutionsOf(process.env),
    random: options.random ?? Math.random,
  };
  const now = options.now ?? (() => new Date());
  return {
    kind: TASK_SEQUENCE,
    async run(call) {
      const startedAt = performance.now();
      const tasks = readTasks(call.config);
      const variables = createVariables(call, now);
      const ending = await runTasks(call, tasks, variables, run);
      const result = isSingle(call) ? singleResult(ending, variables) : listResult(ending, variables);
      return { ...result, duration_ms: Math.round(performance.now() - startedAt) };
    },
  };
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
