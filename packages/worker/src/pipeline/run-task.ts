// One execution of one task. Whatever goes wrong before or inside the tool (a template, an unknown kind, a refused
// connection that it threw) is an execution like any other, so that policy rules can look at it.
import type { JsonObject } from '@noetl/core';
import { raisedError, toolNotFound } from '../tools/errors.js';
import type { ToolCall, ToolResult } from '../tools/tool.js';
import type { Execution } from './envelope.js';
import { prepare, renderInput, type Task, type Visit } from './task.js';
import type { Variables } from './variables.js';

/** Rejects only when the command is aborted. */
export async function runTask(task: Task, call: ToolCall, variables: Variables, visit: Visit): Promise<Execution> {
  const startedAt = performance.now();
  let input: JsonObject = {};
  let result: ToolResult;
  try {
    const tool = call.tools.get(task.kind);
    if (tool === undefined) throw toolNotFound(task.kind, call.tools);
    input = renderInput(task, variables, visit.attempt);
    result = await tool.run(prepare(task, call, variables, input, visit));
  } catch (error) {
    result = { status: 'error', ...raisedError(error, task.kind) };
  }
  // The runtime knows why it aborted; nothing that happens afterwards matters.
  call.signal.throwIfAborted();
  const durationMs = Math.round(performance.now() - startedAt);
  return { kind: task.kind, result, attempt: visit.attempt, durationMs, input };
}
