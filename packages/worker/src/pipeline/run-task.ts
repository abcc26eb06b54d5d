// One execution of one task. Whatever goes wrong before or inside the tool (a template, an unknown kind, a refused
// connection that it threw) is an execution like any other, so that policy rules can look at it.
import type { JsonObject } from '@noetl/core';
import { readyFor } from '../results/index.js';
import { raisedError, toolNotFound } from '../tools/errors.js';
import type { Suspension, ToolAnswer, ToolCall } from '../tools/tool.js';
import type { Execution } from './envelope.js';
import { prepare, renderInput, type Task, type Visit } from './task.js';
import type { Variables } from './variables.js';

/** Rejects only when the command is aborted. A suspension is no execution yet: the same visit goes on later. */
export async function runTask(
  task: Task,
  call: ToolCall,
  variables: Variables,
  visit: Visit,
  now: () => Date,
): Promise<Execution | Suspension> {
  let input: JsonObject = {};
  let result: ToolAnswer;
  try {
    const tool = call.tools.get(task.kind);
    if (tool === undefined) throw toolNotFound(task.kind, call.tools);
    const own = await call.results.resolving(() => renderInput(task, variables, visit.attempt));
    input = own;
    const prepared = await call.results.resolving(() => prepare(task, call, variables, own, visit));
    result = await tool.run(await readyFor(tool, prepared));
  } catch (error) {
    result = { status: 'error', ...raisedError(error, task.kind) };
  }
  // The runtime knows why it aborted; nothing that happens afterwards matters.
  call.signal.throwIfAborted();
  if (result.status === 'suspended') return result;
  const durationMs = Math.max(0, now().getTime() - visit.startedAt.getTime());
  return { kind: task.kind, result, attempt: visit.attempt, durationMs, input };
}
