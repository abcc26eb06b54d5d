// Stable ordering as Jinja sorts: ignoring case unless asked not to, by one or several attributes, nothing first.
import { print } from '../json-text.js';
import { isNothing } from '../kinds.js';
import { type Budget, spend, spendText } from '../limits.js';
import { order } from '../values.js';
import { plain } from '../views.js';
import { attributeReader } from './attribute.js';

export function foldCase(value: unknown, budget: Budget): unknown {
  if (typeof value !== 'string') return value;
  spendText(budget, value.length);
  return value.toLowerCase();
}

/** A function that returns a sorted copy; `attribute` may name several, separated by commas. */
export function sorter(
  attribute: unknown,
  caseSensitive: boolean,
  reverse: boolean,
  budget: Budget,
): (items: readonly unknown[]) => unknown[] {
  const readers = (typeof attribute === 'string' ? print(attribute, budget).split(',') : [attribute]).map((name) =>
    attributeReader(typeof name === 'string' ? name.trim() : name, budget),
  );
  const fold = caseSensitive ? (value: unknown) => value : foldCase;
  return (items) => {
    const keyed = items.map((item) => ({ item, keys: readers.map((read) => fold(plain(read(item)), budget)) }));
    keyed.sort((a, b) => {
      spend(budget, 1);
      for (let i = 0; i < readers.length; i++) {
        const difference = orderWithNothing(a.keys[i], b.keys[i], budget);
        if (difference !== 0) return reverse ? -difference : difference;
      }
      return 0;
    });
    return keyed.map(({ item }) => item);
  };
}

function orderWithNothing(a: unknown, b: unknown, budget: Budget): number {
  if (isNothing(a) || isNothing(b)) return Number(isNothing(b)) - Number(isNothing(a));
  return order(a, b, budget) ?? 0;
}
