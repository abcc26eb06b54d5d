// What can be looped over.
import { isObject, parseJson } from '../json/index.js';
import type { Json } from '../json/types.js';
import { TemplateError } from '../template/index.js';

export const MAX_ITEMS = 1_000_000;

/** A list as it is; an object as its entries; a text as JSON or as a list of words; a number as that many indexes. */
export function itemsOf(value: Json, source: string): Json[] {
  if (Array.isArray(value)) return value;
  if (isObject(value)) return Object.entries(value).map(([key, entry]) => ({ key, value: entry }));
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ITEMS) {
    return Array.from({ length: value }, (_, index) => index);
  }
  if (typeof value === 'string') return itemsOfText(value);
  const got = value === null ? 'null' : typeof value;
  throw new TemplateError(`Loop expression '${source}' did not evaluate to an iterable (got ${got})`);
}

function itemsOfText(text: string): Json[] {
  try {
    const parsed = parseJson(text);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // Not JSON: a plain list of words.
  }
  return text
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
