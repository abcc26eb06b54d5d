// Where two JSON values differ, as a list of changes with the path to each.
import { isObject } from '../json/index.js';
import type { Json } from '../json/types.js';

export interface Change {
  readonly path: readonly (string | number)[];
  readonly kind: 'added' | 'removed' | 'changed';
  /** Absent when added. */
  readonly before?: Json;
  /** Absent when removed. */
  readonly after?: Json;
}

export interface Difference {
  readonly changes: readonly Change[];
  /** There are more than were asked for. */
  readonly truncated: boolean;
}

/** A longer list is one value: who changed item 4,711 of 100,000 is better told as a whole. */
const MAX_COMPARED_ITEMS = 200;

export function difference(before: Json, after: Json, limit: number): Difference {
  const changes: Change[] = [];
  walk([], before, after, (change) => changes.push(change) <= limit);
  return { changes: changes.slice(0, limit), truncated: changes.length > limit };
}

/** @param found false: enough */
function walk(path: Change['path'], before: Json, after: Json, found: (change: Change) => boolean): boolean {
  if (before === after) return true;
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (!step([...path, key], before[key], after[key], found)) return false;
    }
    return true;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    if (length <= MAX_COMPARED_ITEMS) {
      for (let index = 0; index < length; index++) {
        if (!step([...path, index], before[index], after[index], found)) return false;
      }
      return true;
    }
    if (isEqual(before, after)) return true;
  }
  return found({ path, kind: 'changed', before, after });
}

function step(
  path: Change['path'],
  before: Json | undefined,
  after: Json | undefined,
  found: (change: Change) => boolean,
): boolean {
  if (before === undefined) return after === undefined || found({ path, kind: 'added', after });
  return after === undefined ? found({ path, kind: 'removed', before }) : walk(path, before, after, found);
}

export function isEqual(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index] ?? null));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key] ?? null, b[key] ?? null))
  );
}
