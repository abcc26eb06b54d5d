// Values on their way out: secrets masked by the names they stand under, and nothing too long to look at.
import { type Change, type Json, type JsonObject, MASK, redact, stringifyJson, type WrittenChange } from '@noetl/core';

export interface ShownValue {
  readonly value: Json;
  /** Set instead of the value when that is too long: its length as JSON. */
  readonly size?: number;
}

const MAX_SHOWN = 32 * 1024;

export function shownValue(path: readonly (string | number)[], value: Json): ShownValue {
  const shown = maskedAt(path, value);
  const size = stringifyJson(shown).length;
  return size <= MAX_SHOWN ? { value: shown } : { value: null, size };
}

/** Every name on the way to a value may be the one that promises a secret. */
function maskedAt(path: readonly (string | number)[], value: Json): Json {
  const names = path.filter((key) => typeof key === 'string');
  let shown = redact(names.reduceRight<Json>((inner, name) => ({ [name]: inner }), value));
  for (const name of names) {
    if (typeof shown !== 'object' || shown === null || Array.isArray(shown)) return MASK;
    shown = shown[name] ?? null;
  }
  return shown;
}

/** A whole view: error texts in it may quote anything. */
export function masked<T extends object>(view: T): T {
  return redact(view as unknown as Json) as unknown as T;
}

export function shownChange({ path, kind, before, after }: Change): JsonObject {
  const side = (name: 'before' | 'after', value: Json | undefined): JsonObject => {
    if (value === undefined) return {};
    const { value: shown, size } = shownValue(path, value);
    return { [name]: shown, ...(size === undefined ? {} : { [`${name}_size`]: size }) };
  };
  return { path: [...path], kind, ...side('before', before), ...side('after', after) };
}

export function shownWrittenChange(change: WrittenChange): JsonObject {
  const { before_by, after_by } = change;
  return { ...shownChange(change), before_by: before_by && { ...before_by }, after_by: after_by && { ...after_by } };
}
