import type { JsonObject } from './types.js';

export { parseJson } from './parse.js';
export { toStorableText } from './storable.js';
export { canonicalJson, rawId, stringifyJson } from './stringify.js';
export { JsonSyntaxError } from './syntax-error.js';
export type { Json, JsonObject } from './types.js';

/** True for a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
