// What the author says about keeping the result of a step: `output` of the step, of its tool, or of the tools of a list.
import type { LeasedCommand } from '@noetl/client';
import { isObject, type Json, type JsonObject } from '@noetl/core';

export interface OutputSettings {
  /** A result of more bytes of JSON than this is stored, and the log carries a reference. */
  readonly inlineMaxBytes: number;
  readonly previewMaxBytes: number;
  /** Fields that stay readable beside the reference. */
  readonly select: readonly Selector[];
  readonly scope: string;
  readonly ttl: Json;
}

export interface Selector {
  /** `a.b[0].c`, already taken apart. */
  readonly path: readonly string[];
  readonly as: string;
}

const INLINE_MAX_BYTES = 65_536;
/** However much an author allows: an event must stay far below what one report may hold. */
const INLINE_CEILING = 16 * 1024 * 1024;
const PREVIEW_MAX_BYTES = 1_024;
const PREVIEW_CEILING = 65_536;

export function outputSettings(command: LeasedCommand): OutputSettings {
  const outputs = outputsOf(command);
  const merged: JsonObject = Object.assign({}, ...outputs.toReversed());
  const store = isObject(merged['store']) ? merged['store'] : {};
  const scope = merged['scope'];
  return {
    inlineMaxBytes: bytesOf(merged['inline_max_bytes'], INLINE_MAX_BYTES, INLINE_CEILING),
    previewMaxBytes: bytesOf(merged['preview_max_bytes'], PREVIEW_MAX_BYTES, PREVIEW_CEILING),
    select: outputs.flatMap((output) => [...selectorsOf(output['output_select']), ...selectorsOf(output['select'])]),
    scope: typeof scope === 'string' && scope !== '' ? scope : 'execution',
    ttl: store['ttl'] ?? merged['ttl'] ?? null,
  };
}

/** The step's own first: what it says wins over what its tools say. */
function outputsOf({ meta, context }: LeasedCommand): JsonObject[] {
  const tasks = Array.isArray(context.tool_config) ? context.tool_config : [];
  const ofTasks = tasks.flatMap((task) => (isObject(task) ? Object.values(task) : []));
  return [meta['output'], ...ofTasks.map((task) => (isObject(task) ? task['output'] : undefined))].filter(isObject);
}

function bytesOf(value: Json | undefined, usual: number, ceiling: number): number {
  const bytes = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof bytes === 'number' && bytes >= 0 ? Math.min(bytes, ceiling) : usual;
}

/** A path as text, or `{path, as}`; without `as` the field keeps its last name. */
function selectorsOf(list: Json | undefined): Selector[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry) => {
    const [written, as] = isObject(entry) ? [entry['path'], entry['as']] : [entry, undefined];
    const path = typeof written === 'string' ? segments(written) : [];
    const name = typeof as === 'string' && as !== '' ? as : path.at(-1);
    return name === undefined ? [] : [{ path, as: name }];
  });
}

function segments(path: string): string[] {
  return path
    .trim()
    .replace(/^\$/, '')
    .split(/[.[\]]/)
    .map((segment) => segment.trim().replace(/^(['"])(.*)\1$/, '$2'))
    .filter((segment) => segment !== '');
}
