// Runs a list of tasks with the real tools of a worker, through the same door the runtime uses.
import type { Json, JsonObject } from '@noetl/core';
import { builtinTools, toolRegistry } from '../tools/index.js';
import type { ToolAnswer, ToolCall, ToolResult } from '../tools/tool.js';
import { toolCall } from '../tools/tool-call.fixture.js';
import { createTaskSequenceTool, type TaskSequenceOptions } from './index.js';

const tools = toolRegistry(builtinTools());

export interface Given extends Partial<ToolCall> {
  readonly options?: TaskSequenceOptions;
}

/** Waits in place, however long. */
export async function run(tasks: Json, { options, ...parts }: Given = {}): Promise<ToolResult> {
  const answer = await answerOf(tasks, { ...parts, options: { suspendAfterMs: Number.POSITIVE_INFINITY, ...options } });
  if (answer.status === 'suspended') throw new Error(`the sequence suspended itself: ${answer.reason}`);
  return answer;
}

export function answerOf(tasks: Json, { options, ...parts }: Given = {}): Promise<ToolAnswer> {
  const call = toolCall({ kind: 'task_sequence', tool_config: tasks }, { tools, ...parts });
  return createTaskSequenceTool({ random: () => 0.5, ...options }).run(call);
}

/** Data of a sequence that must succeed. */
export async function dataOf(tasks: Json, given: Given = {}): Promise<JsonObject> {
  const result = await run(tasks, given);
  if (result.status !== 'success') throw new Error(`the sequence failed: ${result.error}`);
  return result.data as JsonObject;
}

/** Answers with `result` as it is rendered. */
export function noop(result: Json, more: JsonObject = {}): JsonObject {
  return { kind: 'noop', result, ...more };
}

export function policy(...rules: Json[]): JsonObject {
  return { spec: { policy: { rules } } };
}

/** Fails with exit code `code`. */
export function failing(more: JsonObject = {}): JsonObject {
  return { kind: 'shell', command: 'exit 3', ...more };
}

/** A rule; built this way because an object literal with the key `then` looks like a promise. */
export function when(condition: Json, then: JsonObject): JsonObject {
  return Object.fromEntries([
    ['when', condition],
    ['then', then],
  ]);
}

export function always(then: JsonObject): JsonObject {
  return Object.fromEntries([['then', then]]);
}
