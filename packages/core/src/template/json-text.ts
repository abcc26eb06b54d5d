// Data on its way out of an evaluation: as JSON text, as printed text, or as plain JSON without any view in it.
import type { Json } from '../json/types.js';
import { TemplateError } from './error.js';
import { isMap, isNothing, put } from './kinds.js';
import { allowDataDepth, allowText, type Budget, LIMITS, spend } from './limits.js';
import { plain } from './views.js';

/** Text as an author expects it inside a sentence: nothing is empty, booleans as in Jinja, collections as JSON. */
export function print(value: unknown, budget: Budget): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
      return String(value);
    case 'boolean':
      return value ? 'True' : 'False';
    case 'object': {
      if (value === null) return '';
      const data = plain(value);
      return typeof data === 'object' && data !== null ? jsonText(data, budget) : print(data, budget);
    }
    default:
      return '';
  }
}

/** JSON text; Unicode is kept as it is. `indent` spreads it over lines. */
export function jsonText(value: unknown, budget: Budget, indent = 0): string {
  const write = (input: unknown, depth: number): string => {
    const data = plain(input);
    if (isNothing(data)) return 'null';
    if (typeof data === 'string') return JSON.stringify(data);
    if (typeof data === 'number') return Number.isFinite(data) ? String(data) : 'null';
    if (typeof data !== 'object') return typeof data === 'function' || typeof data === 'symbol' ? 'null' : String(data);
    allowDataDepth(depth);
    const isList = Array.isArray(data);
    if (!isList && !isMap(data)) throw notData(data);
    const parts: string[] = [];
    let size = 0;
    const push = (part: string) => {
      size += part.length + 1;
      if (size > LIMITS.output) allowText(budget, size);
      parts.push(part);
    };
    if (isList) {
      for (const element of data) push(write(element, depth + 1));
    } else {
      const separator = indent > 0 ? ': ' : ':';
      for (const key of Object.keys(data)) {
        if (data[key] !== undefined) push(JSON.stringify(key) + separator + write(data[key], depth + 1));
      }
    }
    spend(budget, 1 + parts.length);
    const text = join(parts, depth);
    allowText(budget, text.length);
    return isList ? `[${text}]` : `{${text}}`;
  };
  const join = (parts: readonly string[], depth: number): string => {
    if (indent === 0 || parts.length === 0) return parts.join(',');
    const inner = `\n${' '.repeat(indent * (depth + 1))}`;
    return `${inner}${parts.join(`,${inner}`)}\n${' '.repeat(indent * depth)}`;
  };
  return write(value, 0);
}

/** Plain JSON for the caller. Data without views is returned as it is, not copied. */
export function toJson(value: unknown, budget: Budget, depth = 0): Json {
  const data = plain(value);
  switch (typeof data) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return data;
    case 'number':
      return Number.isFinite(data) ? data : null;
    case 'object':
      if (data === null) return null;
      allowDataDepth(depth);
      if (Array.isArray(data)) return listToJson(data, budget, depth);
      if (isMap(data)) return mapToJson(data, budget, depth);
      throw notData(data);
    default:
      return null;
  }
}

function listToJson(list: readonly unknown[], budget: Budget, depth: number): Json[] {
  spend(budget, 1 + list.length);
  let copy: Json[] | undefined;
  for (const [index, element] of list.entries()) {
    const json = toJson(element, budget, depth + 1);
    if (copy === undefined && json !== element) copy = list.slice(0, index) as Json[];
    copy?.push(json);
  }
  return copy ?? (list as Json[]);
}

function mapToJson(map: Record<string, unknown>, budget: Budget, depth: number): Json {
  const keys = Object.keys(map);
  spend(budget, 1 + keys.length);
  const converted = keys.map((key) => toJson(map[key], budget, depth + 1));
  if (keys.every((key, index) => map[key] === converted[index])) return map as Record<string, Json>;
  const copy: Record<string, unknown> = {};
  for (const [index, key] of keys.entries()) if (map[key] !== undefined) put(copy, key, converted[index]);
  return copy as Record<string, Json>;
}

function notData(value: object): TemplateError {
  return new TemplateError(`a value of type ${value.constructor?.name ?? 'object'} is not data a template can use`);
}
