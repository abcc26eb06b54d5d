// What stays readable of a result that is stored elsewhere: its reference, the fields the author chose, its small fields, the names of
// all of them, and a preview for people. Everything else is found through the reference, so leaving something out costs time, never data.
import { isObject, type Json, type JsonObject, redact, stringifyJson } from '@noetl/core';
import { jsonSize } from '../json-size.js';
import type { OutputSettings, Selector } from './settings.js';

/** What an author selects is wanted, also when hardly anything else is to be inline. */
const SELECTED_BYTES = 65_536;
const SMALL_FIELDS_BYTES = 4_096;
const SMALL_TEXT = 512;
const MAX_KEYS = 100;
const MAX_KEYS_LENGTH = 2_048;
/** A label for readers of older playbooks; everything is in the same store. */
const KV_BYTES = 1024 * 1024;

export function shownOf(
  ref: string,
  value: Json,
  bytes: number,
  fields: JsonObject,
  previewMaxBytes: number,
): JsonObject {
  const keys = keysOf(value);
  return {
    ...fields,
    _ref: ref,
    _store: bytes < KV_BYTES ? 'kv' : 'disk',
    _preview: previewOf(value, previewMaxBytes),
    ...(keys === undefined ? {} : { _keys: keys }),
  };
}

/** Selected fields as far as they fit inline at all, then single values of the first level as far as they are small. */
export function readableFields(value: Json, settings: OutputSettings): JsonObject {
  const fields = new Map<string, Json>();
  let room = Math.max(settings.inlineMaxBytes, SELECTED_BYTES);
  for (const selector of settings.select) {
    const found = select(value, selector);
    const size = found === undefined ? 0 : jsonSize(found) + selector.as.length;
    if (found === undefined || size > room) continue;
    room -= size;
    fields.set(selector.as, found);
  }
  room = SMALL_FIELDS_BYTES;
  for (const [key, field] of isObject(value) ? Object.entries(value) : []) {
    if (fields.has(key) || typeof field === 'object' || (typeof field === 'string' && field.length > SMALL_TEXT))
      continue;
    room -= jsonSize(field) + key.length;
    if (room < 0) break;
    fields.set(key, field);
  }
  return Object.fromEntries(fields);
}

function select(value: Json, { path }: Selector): Json | undefined {
  let at: Json | undefined = value;
  for (const [index, segment] of path.entries()) {
    const next = step(at, segment);
    // As in templates, `data` and `result` mean the value itself when it has no such field.
    if (next === undefined && index === 0 && (segment === 'data' || segment === 'result') && path.length > 1) continue;
    at = next;
  }
  return at;
}

function step(value: Json | undefined, segment: string): Json | undefined {
  if (Array.isArray(value)) return /^-?\d+$/.test(segment) ? value.at(Number(segment)) : undefined;
  return isObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

/** All names or none: a list that is not complete would say that the others do not exist. */
function keysOf(value: Json): string[] | undefined {
  if (!isObject(value)) return undefined;
  const keys = Object.keys(value);
  const length = keys.reduce((sum, key) => sum + key.length, 0);
  return keys.length > MAX_KEYS || length > MAX_KEYS_LENGTH ? undefined : keys;
}

/** The beginning of the value as JSON text. Masked here, because nobody can tell secrets by their keys in a text that is cut. */
function previewOf(value: Json, maxBytes: number): string {
  const text = Buffer.from(stringifyJson(redact(beginningOf(value, { left: maxBytes }))));
  if (text.length <= maxBytes) return text.toString('utf8');
  // A character that would be cut in two is left out.
  let end = maxBytes;
  while (end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return text.toString('utf8', 0, end);
}

/** A copy of about as much as fits, so that the preview of a huge value costs little. */
function beginningOf(value: Json, room: { left: number }): Json {
  if (typeof value === 'string') {
    room.left -= value.length + 3;
    return value.slice(0, Math.max(0, room.left + value.length + 3));
  }
  if (typeof value !== 'object' || value === null) {
    room.left -= 6;
    return value;
  }
  room.left -= 2;
  if (Array.isArray(value)) {
    const items: Json[] = [];
    for (const item of value) {
      if (room.left <= 0) break;
      items.push(beginningOf(item, room));
    }
    return items;
  }
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (room.left <= 0) break;
    room.left -= key.length + 4;
    entries.push([key, beginningOf(item, room)]);
  }
  return Object.fromEntries(entries);
}
