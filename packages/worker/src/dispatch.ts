// From a leased command to the outcome of its tool. Never rejects: whatever goes wrong is an outcome to report.
import type { LeasedCommand } from '@noetl/client';
import { isObject, type JsonObject } from '@noetl/core';
import type { Outcome } from './events.js';
import type { WorkerLog } from './log.js';
import { declaredTimeoutMs } from './tools/config.js';
import { toolNotFound } from './tools/errors.js';
import type { ToolRegistry } from './tools/index.js';
import type { ToolCall } from './tools/tool.js';

export async function dispatch(
  command: LeasedCommand,
  tools: ToolRegistry,
  signal: AbortSignal,
  log: WorkerLog,
): Promise<Outcome> {
  try {
    const tool = tools.get(command.tool_kind);
    if (tool === undefined) throw toolNotFound(command.tool_kind, tools);
    return { type: 'returned', result: await tool.run(callOf(command, tools, signal, log)) };
  } catch (error) {
    return { type: 'raised', error };
  }
}

function callOf(command: LeasedCommand, tools: ToolRegistry, signal: AbortSignal, log: WorkerLog): ToolCall {
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
    log,
  };
}
