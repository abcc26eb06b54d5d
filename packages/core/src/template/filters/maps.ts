// Filters on maps, and those that work on several kinds of values.
import { TemplateError } from '../error.js';
import { isMap, isNothing, kindOf } from '../kinds.js';
import { spend } from '../limits.js';
import { countCharacters } from '../python-text.js';
import { contentOf } from '../reference.js';
import type { Run } from '../scope.js';
import { item, iterate, truthy } from '../values.js';
import { plain } from '../views.js';
import { type FilterTable, filter, itemsOf, textOf } from './filter.js';
import { sorter } from './sorting.js';

const keepsViews = { keepsViews: true } as const;

const length = filter('', (value, _, run) => {
  if (typeof value === 'string') return countCharacters(value);
  return iterate(value, run).length;
});

/** Replaces what is missing: undefined and null alike; with `true` also whatever is falsy. */
const orElse = filter(
  'default_value|value? boolean?',
  (value, [fallback, boolean], run) => {
    if (!isNothing(value) && !(truthy(boolean, run) && !truthy(value, run))) return value;
    // `default(none)` asks for nothing; only an argument that is left out means empty text.
    return fallback === undefined ? '' : fallback;
  },
  keepsViews,
);

export const mapFilters: FilterTable = {
  length,
  count: length,
  len: length,
  default: orElse,
  d: orElse,
  safe: filter('', (value) => value, keepsViews),
  get: filter('key default?', (value, [key, fallback], run) => item(value, key, run) ?? fallback, keepsViews),
  attr: filter('name', (value, [name], run) => item(value, name, run), keepsViews),
  keys: filter('', (value, _, run) => entriesOf(value, run).map(([key]) => key)),
  values: filter('', (value, _, run) => entriesOf(value, run).map(([, part]) => part)),
  items: filter('', (value, _, run) => entriesOf(value, run)),
  dictsort: filter('case_sensitive? by? reverse?', (value, [caseSensitive, by, reverse], run) => {
    const position = isNothing(by) || textOf(by, run) === 'key' ? 0 : 1;
    return sorter(position, truthy(caseSensitive, run), truthy(reverse, run), run)(entriesOf(value, run));
  }),
};

/** Key and value pairs; a list counts as its own pairs only when it already is one. */
export function entriesOf(value: unknown, run: Run): [unknown, unknown][] {
  const data = contentOf(plain(value));
  if (isMap(data)) {
    const entries = Object.entries(data);
    spend(run, 1 + entries.length);
    return entries;
  }
  if (!isNothing(data) && !Array.isArray(data)) throw new TemplateError(`expected a map, not ${kindOf(data)}`);
  return itemsOf(data, run).map((element) => {
    const pair = plain(element);
    if (!Array.isArray(pair) || pair.length !== 2) throw new TemplateError('expected a map, not a list');
    return [pair[0], pair[1]];
  });
}
