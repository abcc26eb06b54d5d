// `--payload key=value` and `--payload-file`: the inputs of an execution, put together from what the user typed.
import { readFileSync } from 'node:fs';
import { type Json, type JsonObject, parseJson } from '@noetl/core';
import { messageOf, usageError } from './errors.js';

/** Later wins: the file first, then each `--payload` in order. */
export function buildPayload(pairs: readonly string[], file?: string): JsonObject {
  const payload: JsonObject = file === undefined ? {} : readPayloadFile(file);
  for (const pair of pairs) {
    const [key, value] = parsePair(pair);
    // Not by assignment: a key named __proto__ is data like any other.
    Object.defineProperty(payload, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return payload;
}

/** The value is JSON when it parses as JSON (`5`, `true`, `["a"]`), else the text itself. Quote it to force text: `id='"007"'`. */
export function parsePair(pair: string): [string, Json] {
  const split = pair.indexOf('=');
  const key = pair.slice(0, Math.max(0, split)).trim();
  if (key === '') throw usageError(`--payload "${pair}" has no key.`, 'Write --payload name=value.');
  const text = pair.slice(split + 1);
  try {
    return [key, parseJson(text)];
  } catch {
    return [key, text];
  }
}

function readPayloadFile(file: string): JsonObject {
  let parsed: Json;
  try {
    parsed = parseJson(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    throw usageError(
      `Cannot read the payload in ${file}: ${messageOf(error)}`,
      'It must be a file with one JSON object.',
    );
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw usageError(`The payload in ${file} is not a JSON object.`, 'Write {"name": value, …}.');
  }
  return { ...parsed };
}
