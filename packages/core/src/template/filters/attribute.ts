// Attributes named by a string, as `map(attribute='a.b')` and `sort(attribute='x')` take them.

import { print } from '../json-text.js';
import { isNothing, isNumeric } from '../kinds.js';
import type { Budget } from '../limits.js';
import { item, member } from '../values.js';

/** Reads `'a.0.b'` from a value: digits are positions, everything else keys. */
export function attributeReader(attribute: unknown, budget: Budget): (value: unknown) => unknown {
  if (isNothing(attribute)) return (value) => value;
  if (isNumeric(attribute)) return (value) => item(value, attribute, budget);
  const steps = print(attribute, budget).split('.');
  return (value) => {
    let current = value;
    for (const step of steps) {
      const byKey = member(current, step);
      current = byKey === undefined && /^\d+$/.test(step) ? item(current, Number(step), budget) : byKey;
      if (isNothing(current)) return undefined;
    }
    return current;
  };
}
