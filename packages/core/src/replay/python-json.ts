// JSON as Python's `json.dumps(value, sort_keys=True, separators=(',', ':'))` writes it. Checksums of payloads are computed from this text, so
// that a payload has the same checksum wherever it is checked; the checksums of states are not (canonical.ts).
import { sortByCodePoint } from './canonical.js';
import { ExactFloat, type ExactJson } from './exact-json.js';

export function pythonJson(value: ExactJson): string {
  switch (typeof value) {
    case 'string':
      return asciiText(value);
    case 'bigint':
      return value.toString();
    case 'number':
      // Python reads the literal -0 as an integer, which has no sign; a float keeps it, but then it has a fraction.
      return Number.isSafeInteger(value) ? String(value) : pythonFloat(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      break;
  }
  if (value === null) return 'null';
  if (value instanceof ExactFloat) return pythonFloat(value.value);
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(',')}]`;
  const members = Object.entries(value);
  const byKey = new Map(members);
  const keys = sortByCodePoint(members.map(([key]) => key));
  return `{${keys.map((key) => `${asciiText(key)}:${pythonJson(byKey.get(key) ?? null)}`).join(',')}}`;
}

/** Whole in this range, with a fraction always; else with an exponent of a sign and two digits at least. */
function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  const text = Object.is(value, -0) ? '-0' : String(value);
  return Number.isInteger(value) ? `${text}.0` : text;
}

function asciiText(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
