// What a value of DuckDB is in JSON: the same as for Postgres. Integers beyond 2^53 and decimals are text, times are ISO, bytes are base64.
import type * as DuckDb from '@duckdb/node-api';
import type { DuckDBValue } from '@duckdb/node-api';
import { isObject, type Json, type JsonObject, stringifyJson } from '@noetl/core';

/** The module is loaded when the first step needs it, so its classes are handed in. */
export function jsonOf(api: typeof DuckDb, value: DuckDBValue): Json {
  const nested = (item: DuckDBValue): Json => jsonOf(api, item);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return integer(value);
  if (value instanceof api.DuckDBListValue || value instanceof api.DuckDBArrayValue) return value.items.map(nested);
  if (value instanceof api.DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, item]) => [name, nested(item)]));
  }
  if (value instanceof api.DuckDBMapValue)
    return mapOf(value.entries.map(({ key, value: item }) => [nested(key), nested(item)]));
  if (value instanceof api.DuckDBUnionValue) return nested(value.value);
  if (value instanceof api.DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (value instanceof api.DuckDBTimestampTZValue)
    return momentOf(new api.DuckDBTimestampValue(value.micros).toString(), '+00:00');
  const text = value.toString();
  return /^\d{4,}-\d\d-\d\d \d\d:/.test(text) ? momentOf(text, '') : text;
}

/** What a parameter of a step is for DuckDB. A list has a type only by its items: an empty one, or one of objects, is JSON. */
export function parameterOf(api: typeof DuckDb, value: Json): DuckDBValue {
  if (isObject(value)) return stringifyJson(value);
  if (!Array.isArray(value)) return value;
  if (value.length === 0 || value.some((item) => isObject(item))) return stringifyJson(value);
  return api.listValue(value.map((item) => parameterOf(api, item)));
}

function integer(value: bigint): Json {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** An object when the keys are text; otherwise a list of entries, since JSON has no other keys. */
function mapOf(entries: readonly [Json, Json][]): Json {
  const named = entries.filter((entry): entry is [string, Json] => typeof entry[0] === 'string');
  if (named.length === entries.length) return Object.fromEntries(named) satisfies JsonObject;
  return entries.map(([key, value]) => ({ key, value }));
}

function momentOf(text: string, zone: string): string {
  return `${text.replace(' ', 'T')}${zone}`;
}
