// Roughly how many bytes a value takes as JSON, without building the text: batches are cut by it, nothing is decided on
// the exact number. Throws on what JSON cannot carry, so that one tool's odd result cannot spoil a whole batch later.
const MAX_DEPTH = 500;

export function jsonSize(value: unknown, depth = 0): number {
  switch (typeof value) {
    case 'string':
      return value.length + 2;
    case 'number':
    case 'bigint':
      return 12;
    case 'boolean':
      return 5;
    case 'undefined':
      return 0;
    case 'object':
      break;
    default:
      throw new TypeError(`a ${typeof value} has no JSON form`);
  }
  if (value === null) return 4;
  // Deeper than this is a cycle, or something no database will take.
  if (depth > MAX_DEPTH) throw new RangeError('the result is nested too deeply');
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) size += jsonSize(item, depth + 1) + 1;
    return size;
  }
  for (const [key, item] of Object.entries(value)) size += key.length + 4 + jsonSize(item, depth + 1);
  return size;
}
