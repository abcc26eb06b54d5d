// Compares what a test expects with what came of it. An expected map asks for its own keys only, at every depth; a list is compared item
// by item. Every difference is told, each with its place.
import { canonicalJson, isObject, type Json } from '@noetl/core';

export interface Difference {
  /** `.items[2].price`; empty for the value as a whole. */
  readonly place: string;
  /** Absent: nothing is expected there. */
  readonly expected?: Json;
  /** Absent: there is nothing. */
  readonly actual?: Json;
}

export function differences(expected: Json, actual: Json | undefined, place = ''): Difference[] {
  if (isObject(expected) && isObject(actual)) {
    return Object.entries(expected).flatMap(([key, value]) =>
      differences(value, Object.hasOwn(actual, key) ? actual[key] : undefined, `${place}${keyPlace(key)}`),
    );
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = Math.max(expected.length, actual.length);
    return Array.from({ length }, (_, index) => index).flatMap((index): Difference[] => {
      const inner = `${place}[${index}]`;
      const [wanted, found] = [expected[index], actual[index]];
      if (wanted !== undefined) return differences(wanted, found, inner);
      return found === undefined ? [] : [{ place: inner, actual: found }];
    });
  }
  if (actual === undefined) return [{ place, expected }];
  return canonicalJson(expected) === canonicalJson(actual) ? [] : [{ place, expected, actual }];
}

function keyPlace(key: string): string {
  return /^[\w-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
