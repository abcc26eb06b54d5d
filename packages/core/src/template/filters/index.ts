// All filters by name. `map` lives here because it looks other filters up.
import { TemplateError } from '../error.js';
import { isNothing } from '../kinds.js';
import { spendText } from '../limits.js';
import type { Run } from '../scope.js';
import { suggestion } from '../suggest.js';
import { plain, Synonym, settle } from '../views.js';
import { attributeReader } from './attribute.js';
import { conversionFilters } from './conversion.js';
import { type Filter, type FilterTable, filter, itemsOf, textOf } from './filter.js';
import { listFilters } from './lists.js';
import { mapFilters } from './maps.js';
import { textFilters } from './text.js';

export type { Filter } from './filter.js';

const map = filter(
  'filter? attribute? default? …',
  (value, [name, ...args], run) => {
    const [attribute, fallback] = args;
    const items = itemsOf(value, run);
    if (isNothing(name)) {
      if (isNothing(attribute)) throw new TemplateError("map needs the name of a filter or 'attribute='");
      const read = attributeReader(attribute, run);
      return items.map((item) => read(item) ?? fallback ?? null);
    }
    const found = findFilter(textOf(name, run));
    return items.map((item) => applyFilter(found, item, args, run) ?? null);
  },
  { refersTo: { argument: 0, registry: 'filter' } },
);

const FILTERS: FilterTable = { ...textFilters, ...listFilters, ...mapFilters, ...conversionFilters, map };

export function findFilter(name: string): Filter {
  const found = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (found) return found;
  throw new TemplateError(`unknown filter '${name}'${suggestion(name, Object.keys(FILTERS))}`);
}

export function applyFilter(found: Filter, value: unknown, args: readonly unknown[], run: Run): unknown {
  if (found.keepsViews) return found.apply(value, args, run);
  const settled = settle(value);
  if (settled instanceof Synonym && found.respells) {
    return settled.respell(textOf(found.apply(settled.primary, args, run), run));
  }
  const data = plain(settled);
  if (typeof data === 'string') spendText(run, data.length);
  return found.apply(data, args, run);
}
