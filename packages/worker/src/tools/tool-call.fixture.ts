// A tool call for tests: what the runtime would hand over, with the parts a test cares about replaced.
import type { JsonObject } from '@noetl/core';
import { controlPlane } from '../control-plane.fixture.js';
import { silentLog } from '../log.js';
import { createResultAccess, createResultStore } from '../results/index.js';
import { declaredTimeoutMs } from './config.js';
import type { ToolCall } from './tool.js';

export function toolCall(config: JsonObject, parts: Partial<ToolCall> = {}): ToolCall {
  const timeoutMs = declaredTimeoutMs(config);
  const { signal } = new AbortController();
  const { api } = controlPlane();
  const store = createResultStore(api, silentLog);
  return {
    config,
    input: {},
    context: {},
    signal,
    commandId: 'cmd-1',
    executionId: '325000000000000001',
    step: 'fetch',
    attempt: 1,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    meta: {},
    tools: new Map(),
    results: createResultAccess(store, { execution_id: '325000000000000001', step: 'fetch' }, signal),
    executions: api,
    log: silentLog,
    ...parts,
  };
}
