// From a leased command to the outcome of its tool, with a large result already in the store. Never rejects: whatever goes wrong is an
// outcome to report.
import type { LeasedCommand } from '@noetl/client';
import { isObject, type JsonObject } from '@noetl/core';
import type { ExecutionApi } from './api.js';
import type { Outcome } from './events.js';
import type { WorkerLog } from './log.js';
import { createResultAccess, keepResult, type ResultStore, readyFor } from './results/index.js';
import { declaredTimeoutMs } from './tools/config.js';
import { toolNotFound } from './tools/errors.js';
import type { ToolRegistry } from './tools/index.js';
import type { Suspension, ToolCall } from './tools/tool.js';

/** What the tools of one worker share. */
export interface Workshop {
  readonly tools: ToolRegistry;
  readonly store: ResultStore;
  readonly executions: ExecutionApi;
  readonly log: WorkerLog;
}

export async function dispatch(
  command: LeasedCommand,
  workshop: Workshop,
  signal: AbortSignal,
): Promise<Outcome | Suspension> {
  const { tools, store } = workshop;
  try {
    const tool = tools.get(command.tool_kind);
    if (tool === undefined) throw toolNotFound(command.tool_kind, tools);
    const call = callOf(command, workshop, signal);
    const answer = await tool.run(await readyFor(tool, call));
    if (answer.status === 'suspended') return answer;
    return { type: 'returned', ...(await keepResult(command, answer, store, signal)) };
  } catch (error) {
    return { type: 'raised', error };
  }
}

function callOf(command: LeasedCommand, { tools, store, executions, log }: Workshop, signal: AbortSignal): ToolCall {
  const { tool_config, args, render_context } = command.context;
  const config: JsonObject = isObject(tool_config)
    ? { kind: command.tool_kind, ...tool_config }
    : { kind: command.tool_kind, tool_config };
  const own = config['input'];
  const timeoutMs = declaredTimeoutMs(config);
  return {
    config,
    input: isObject(own) ? { ...args, ...own } : args,
    context: render_context,
    signal,
    commandId: command.command_id,
    executionId: command.execution_id,
    step: command.step,
    attempt: command.attempt,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    meta: command.meta,
    tools,
    results: createResultAccess(store, command, signal),
    executions,
    ...(command.resume === undefined ? {} : { resume: command.resume }),
    log,
  };
}
