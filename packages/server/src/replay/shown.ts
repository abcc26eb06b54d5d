// Values on their way out: secrets masked by the names they stand under, and nothing too long to look at.
import { type Json, MASK, redact, stringifyJson } from '@noetl/core';

export interface ShownValue {
  readonly value: Json;
  /** Set instead of the value when that is too long: its length as JSON. */
  readonly size?: number;
}

const MAX_SHOWN = 32 * 1024;

export function shownValue(path: readonly (string | number)[], value: Json): ShownValue {
  const masked = maskedAt(path, value);
  const size = stringifyJson(masked).length;
  return size <= MAX_SHOWN ? { value: masked } : { value: null, size };
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
