// Masks secrets in JSON on its way out: API answers, streams, logs. Stored data is never rewritten by this, because
// templates read it later. Keys tell most of it (keys.ts), the shape of a text the rest (values.ts).
// What must stay true: it never throws, never changes its input, and redacting twice is redacting once.
import type { Json, JsonObject } from '../json/types.js';
import { isSecretHeader, type KeyKind, kindOfKey } from './keys.js';
import { isTemplate, MASK, redactText } from './values.js';

/** As deep as `parseJson` reads. What lies deeper is masked as a whole: unseen must not mean shown. */
const MAX_DEPTH = 512;

/** The same object comes back when nothing was masked, and unchanged parts are shared with the input. */
export function redact(value: Json): Json {
  return redactUnder('plain', value, 0);
}

export type HeaderValue = string | readonly string[] | undefined;

/** HTTP headers, in the shape Node and fetch code use. Names in any case. */
export function redactHeaders(headers: Readonly<Record<string, HeaderValue>>): Record<string, HeaderValue> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, redactHeader(isSecretHeader(name), value)]),
  );
}

function redactHeader(secret: boolean, value: HeaderValue): HeaderValue {
  if (value === undefined) return undefined;
  if (secret) return MASK;
  return typeof value === 'string' ? redactText(value, false) : value.map((item) => redactText(item, false));
}

/** `kind` is what the key above says; an array and everything inside a secret inherit it. */
function redactUnder(kind: KeyKind, value: Json, depth: number): Json {
  switch (typeof value) {
    case 'string':
      return redactString(kind, value);
    case 'number':
    case 'bigint':
      return kind === 'secret' ? MASK : value;
    case 'object':
      if (value === null) return value;
      if (depth >= MAX_DEPTH) return MASK;
      return Array.isArray(value) ? redactArray(kind, value, depth + 1) : redactObject(kind, value, depth + 1);
    default:
      return value;
  }
}

function redactString(kind: KeyKind, text: string): string {
  if (!isSecret(kind)) return redactText(text, kind === 'checksum');
  // An empty secret has nothing to hide, and that it is empty is often the whole problem.
  return text === '' || isTemplate(text) ? text : MASK;
}

function redactArray(kind: KeyKind, array: Json[], depth: number): Json[] {
  let copy: Json[] | undefined;
  for (const [index, item] of array.entries()) {
    const shown = redactUnder(kind, item, depth);
    if (shown === item) continue;
    copy ??= array.slice();
    copy[index] = shown;
  }
  return copy ?? array;
}

function redactObject(kind: KeyKind, object: JsonObject, depth: number): JsonObject {
  let copy: JsonObject | undefined;
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item === undefined) continue;
    const shown = redactUnder(stronger(kind, kindOfKey(key)), item, depth);
    if (shown === item) continue;
    copy ??= { ...object };
    set(copy, key, shown);
  }
  return copy ?? object;
}

/** A plain key inside a secret object (`credentials: {user: …}`) is as secret as its parent. */
function stronger(parent: KeyKind, own: KeyKind): KeyKind {
  if (parent === 'secret' || own === 'secret') return 'secret';
  return parent === 'secret-text' ? 'secret-text' : own;
}

function isSecret(kind: KeyKind): boolean {
  return kind === 'secret' || kind === 'secret-text';
}

/** Assignment would take the key `__proto__` for the prototype; the spread that made the copy does not. */
function set(object: JsonObject, key: string, value: Json): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** For the log formatter: what is logged passes the same mask as what the API returns. `err` keeps its own serialiser. */
export function redactLog(entry: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = entry;
  const masked = redact(rest as Json) as Record<string, unknown>;
  return err === undefined ? masked : { ...masked, err };
}

/** What helps to find the cause of an error. Drivers hang whole connections on theirs, passwords included. */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  return { type: name, message, stack, ...(code === undefined ? {} : { code }) };
}
