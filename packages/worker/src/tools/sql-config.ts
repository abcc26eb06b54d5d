// What the SQL tools read alike from their configuration: the SQL itself and its parameters.
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { firstOf } from './config.js';
import { configurationError } from './errors.js';

/** Time for a step that asks for none. */
export const SQL_TIMEOUT_MS = 600_000;

const TEXT_KEYS = ['command', 'query', 'commands', 'queries', 'cmd', 'cmds', 'sql', 'script'];
const ENCODED_KEYS = TEXT_KEYS.map((key) => `${key}_b64`);

export function sqlOf(kind: string, config: JsonObject): string {
  const plain = firstOf(config, ...TEXT_KEYS);
  const written = plain ?? firstOf(config, ...ENCODED_KEYS);
  if (written === undefined) throw configurationError(kind, 'command is required: the SQL to run (or query, commands)');
  const parts: Json[] = Array.isArray(written) ? written : [written];
  const texts = parts.map((part) => {
    if (typeof part !== 'string') throw configurationError(kind, 'command must be SQL text, or a list of SQL texts');
    return plain === undefined ? Buffer.from(part, 'base64').toString('utf8') : part;
  });
  // A semicolon on a line of its own: a text may end with a line comment.
  return texts.join('\n;\n');
}

export type SqlParams = readonly Json[] | JsonObject;

export function isPositional(params: SqlParams): params is readonly Json[] {
  return Array.isArray(params);
}

/** Undefined when there are none. */
export function paramsOf(kind: string, config: JsonObject): SqlParams | undefined {
  const params = firstOf(config, 'params', 'parameters');
  if (params === undefined) return undefined;
  if (Array.isArray(params)) return params.length === 0 ? undefined : params;
  if (isObject(params)) return Object.keys(params).length === 0 ? undefined : params;
  throw configurationError(kind, 'params must be a list of values');
}
