// Filters on lists: picking, ordering, grouping, and running another filter or test over every item.
import { isNothing } from '../kinds.js';
import { allowItems } from '../limits.js';
import { add } from '../numbers.js';
import { applyTest, findTest } from '../predicates.js';
import type { Run } from '../scope.js';
import { equal, groupPair, truthy } from '../values.js';
import { plain } from '../views.js';
import { attributeReader } from './attribute.js';
import { type FilterTable, filter, integerArgument, itemsOf, numberOperand, textOf } from './filter.js';
import { foldCase, sorter } from './sorting.js';

export const listFilters: FilterTable = {
  first: filter('', (value, _, run) => itemsOf(value, run)[0]),
  last: filter('', (value, _, run) => itemsOf(value, run).at(-1)),
  list: filter('', (value, _, run) => [...itemsOf(value, run)]),
  reverse: filter('', (value, _, run) => {
    const reversed = itemsOf(value, run).toReversed();
    return typeof value === 'string' ? reversed.join('') : reversed;
  }),
  sort: filter('reverse? case_sensitive? attribute?', (value, [reverse, caseSensitive, attribute], run) =>
    sorter(attribute, truthy(caseSensitive, run), truthy(reverse, run), run)(itemsOf(value, run)),
  ),
  min: filter('case_sensitive? attribute?', (value, [caseSensitive, attribute], run) =>
    sorter(attribute, truthy(caseSensitive, run), false, run)(presentItems(value, run)).at(0),
  ),
  max: filter('case_sensitive? attribute?', (value, [caseSensitive, attribute], run) =>
    sorter(attribute, truthy(caseSensitive, run), true, run)(presentItems(value, run)).at(0),
  ),
  sum: filter('attribute? start?', (value, [attribute, start], run) => {
    const read = attributeReader(attribute, run);
    return itemsOf(value, run).reduce<number | bigint>(
      (total, element) => add(total, numberOperand('sum', plain(read(element)))),
      numberOperand('sum', start ?? 0),
    );
  }),
  unique: filter('case_sensitive? attribute?', (value, [caseSensitive, attribute], run) => {
    const read = attributeReader(attribute, run);
    const fold = truthy(caseSensitive, run) ? (key: unknown) => key : foldCase;
    const seen = new Set<unknown>();
    const compounds: unknown[] = [];
    return itemsOf(value, run).filter((element) => {
      const key = fold(plain(read(element)) ?? null, run);
      if (typeof key !== 'object' || key === null) return seen.has(key) ? false : seen.add(key) !== undefined;
      if (compounds.some((other) => equal(other, key, run))) return false;
      return compounds.push(key) > 0;
    });
  }),
  groupby: filter('attribute default? case_sensitive?', (value, [attribute, fallback, caseSensitive], run) => {
    const read = attributeReader(attribute, run);
    const keyOf = (element: unknown) => plain(read(element)) ?? fallback ?? null;
    const fold = truthy(caseSensitive, run) ? (key: unknown) => key : foldCase;
    const pairs = itemsOf(value, run).map((element) => [keyOf(element), element]);
    const ordered = sorter(0, truthy(caseSensitive, run), false, run)(pairs) as [unknown, unknown][];
    const grouped: { key: unknown; list: unknown[] }[] = [];
    for (const [key, element] of ordered) {
      const last = grouped.at(-1);
      if (last && equal(fold(last.key, run), fold(key, run), run)) last.list.push(element);
      else grouped.push({ key, list: [element] });
    }
    return grouped.map(({ key, list }) => groupPair(key, list));
  }),
  batch: filter('linecount fill_with?', (value, [size, fill], run) => {
    const width = Math.max(1, integerArgument('linecount', size, 1));
    const items = itemsOf(value, run);
    const rows: unknown[][] = [];
    for (let i = 0; i < items.length; i += width) rows.push(items.slice(i, i + width));
    const last = rows.at(-1);
    if (last !== undefined && !isNothing(fill)) {
      allowItems(run, width);
      while (last.length < width) last.push(fill);
    }
    return rows;
  }),
  slice: filter('slices fill_with?', (value, [slices, fill], run) => {
    const columns = Math.max(1, integerArgument('slices', slices, 1));
    allowItems(run, columns);
    const items = itemsOf(value, run);
    const even = Math.floor(items.length / columns);
    const longer = items.length % columns;
    let from = 0;
    return Array.from({ length: columns }, (_, column) => {
      const length = even + (column < longer ? 1 : 0);
      const part = items.slice(from, from + length);
      from += length;
      return !isNothing(fill) && longer > 0 && column >= longer ? [...part, fill] : part;
    });
  }),
  select: filter('test? …', (value, [test, ...rest], run) => keep(value, undefined, test, rest, true, run), {
    refersTo: { argument: 0, registry: 'test' },
  }),
  reject: filter('test? …', (value, [test, ...rest], run) => keep(value, undefined, test, rest, false, run), {
    refersTo: { argument: 0, registry: 'test' },
  }),
  selectattr: filter(
    'attribute test? …',
    (value, [attribute, test, ...rest], run) => keep(value, attribute, test, rest, true, run),
    { refersTo: { argument: 1, registry: 'test' } },
  ),
  rejectattr: filter(
    'attribute test? …',
    (value, [attribute, test, ...rest], run) => keep(value, attribute, test, rest, false, run),
    { refersTo: { argument: 1, registry: 'test' } },
  ),
};

function keep(
  value: unknown,
  attribute: unknown,
  test: unknown,
  args: unknown[],
  wanted: boolean,
  run: Run,
): unknown[] {
  const read = attributeReader(attribute, run);
  const predicate = isNothing(test) ? undefined : findTest(textOf(test, run));
  return itemsOf(value, run).filter((element) => {
    const subject = read(element);
    return (predicate === undefined ? truthy(subject, run) : applyTest(predicate, subject, args, run)) === wanted;
  });
}

function presentItems(value: unknown, run: Run): readonly unknown[] {
  return itemsOf(value, run).filter((element) => !isNothing(element));
}
