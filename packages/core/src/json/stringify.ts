// Writes JSON: `JSON.stringify`, and where it gives up on a `bigint`, our own writer with the same rules that puts the
// integer out as a bare literal. Reference workers read ids as 64-bit integers, so quotes around them are not an option.
import type { Id } from '../ids/index.js';

/** Deeper than anything `parseJson` lets in; a value that refers to itself ends here instead of overflowing the stack. */
const MAX_DEPTH = 1_000;

/** Compact JSON of any value. A value that JSON cannot express (undefined, a function) is `null`, as it is inside an array. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    // Either a bigint is inside, or the value is circular; our writer tells them apart.
    if (!(error instanceof TypeError)) throw error;
    return write(value, '', 0, inInsertionOrder) ?? 'null';
  }
}

/** Compact JSON with keys sorted at every level (by UTF-16 code unit): equal documents give equal texts. */
export function canonicalJson(value: unknown): string {
  return write(value, '', 0, sorted) ?? 'null';
}

/** An id that `stringifyJson` writes as a bare integer. */
export function rawId(id: Id): bigint {
  return BigInt(id);
}

type KeyOrder = (object: object) => string[];

const inInsertionOrder: KeyOrder = (object) => Object.keys(object);
const sorted: KeyOrder = (object) => Object.keys(object).sort();

/** Undefined for what JSON leaves out. `key` is what `toJSON` is told about where the value stands. */
function write(value: unknown, key: string, depth: number, keysOf: KeyOrder): string | undefined {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'bigint':
      return value.toString();
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return 'null';
  if (depth > MAX_DEPTH) throw new TypeError('cannot write JSON: the value refers to itself or is nested too deeply');
  if (hasToJSON(value)) return write(value.toJSON(key), key, depth + 1, keysOf);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return JSON.stringify(value);
  }

  if (Array.isArray(value)) {
    const items = Array.from(value, (item, index) => write(item, String(index), depth + 1, keysOf) ?? 'null');
    return `[${items.join(',')}]`;
  }
  let members = '';
  for (const name of keysOf(value)) {
    const text = write((value as Record<string, unknown>)[name], name, depth + 1, keysOf);
    if (text === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${text}`;
  }
  return `{${members}}`;
}

function hasToJSON(value: object): value is { toJSON(key: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
