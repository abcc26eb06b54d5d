// A tool call for tests: what the runtime would hand over, with the parts a test cares about replaced.
import type { JsonObject } from '@noetl/core';
import { silentLog } from '../log.js';
import { declaredTimeoutMs } from './config.js';
import type { ToolCall } from './tool.js';

export function toolCall(config: JsonObject, parts: Partial<ToolCall> = {}): ToolCall {
  const timeoutMs = declaredTimeoutMs(config);
  return {
    config,
    input: {},
    context: {},
    signal: new AbortController().signal,
    commandId: 'cmd-1',
    executionId: '325000000000000001',
    step: 'fetch',
    attempt: 1,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    meta: {},
    tools: new Map(),
    log: silentLog,
    ...parts,
  };
}
