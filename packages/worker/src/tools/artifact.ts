// Stored results as a step of their own: `action: get` brings the value behind a reference, `action: put` stores one.
import { isObject, type Json } from '@noetl/core';
import { firstOf, optionalText } from './config.js';
import { configurationError } from './errors.js';
import type { Tool, ToolCall, ToolResult } from './tool.js';

const KIND = 'artifact';

export const artifactTool: Tool = {
  kind: KIND,
  takesReferences: true,
  run(call) {
    const action = optionalText(KIND, call.config, 'action') ?? 'get';
    switch (action) {
      case 'get':
        return get(call);
      case 'put':
        return put(call);
      default:
        throw configurationError(KIND, `action must be get or put, not '${action}'`);
    }
  },
};

async function get(call: ToolCall): Promise<ToolResult> {
  const written = firstOf(call.input, 'result_ref', 'ref', 'uri') ?? firstOf(call.config, 'result_ref', 'ref', 'uri');
  const ref = isObject(written) ? firstOf(written, '_ref', 'ref') : written;
  if (typeof ref !== 'string' || ref === '') {
    throw configurationError(KIND, 'result_ref is required: the _ref of a step, as in {{ step._ref }}');
  }
  if (!ref.startsWith('noetl://')) throw configurationError(KIND, `'${ref}' does not lead into the result store`);
  return { status: 'success', data: shownValue(await call.results.fetch(ref)) };
}

async function put(call: ToolCall): Promise<ToolResult> {
  const data = call.input['data'] ?? call.config['data'];
  if (data === undefined) throw configurationError(KIND, 'data is required: the value to store');
  const settings = { ...call.config, ...call.input };
  const stored = await call.results.put({
    name: optionalText(KIND, settings, 'name') ?? call.step,
    data: (await call.results.inline({ data }))['data'] ?? null,
    scope: optionalText(KIND, settings, 'scope') ?? 'execution',
    ttl: firstOf(settings, 'ttl') ?? null,
  });
  return { status: 'success', data: { _ref: stored.ref, ...stored } };
}

/** A list of tools: the fields of all its tasks beside their labels, as its step shows them, but nothing more than twice. */
function shownValue(stored: Json): Json {
  if (!isObject(stored) || !Array.isArray(stored['_pipeline'])) return stored;
  const { _pipeline, ...labelled } = stored;
  const results = _pipeline.map((label) => (typeof label === 'string' ? labelled[label] : undefined));
  return Object.fromEntries([...results, labelled].filter(isObject).flatMap((part) => Object.entries(part)));
}
