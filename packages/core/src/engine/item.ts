// One item of a loop as its templates and its script see it.
import type { Json, JsonObject } from '../json/types.js';

export interface ItemPlace {
  readonly iterator: string;
  readonly item: Json;
  readonly index: number;
  readonly total: number;
  /** Only in a cursor loop: the claim that brought the item. `index` and `total` then count within it. */
  readonly frame?: { readonly index: number; readonly rows: readonly Json[]; readonly row: number };
}

/** What the templates of one iteration see beside the usual. */
export function itemLocals(place: ItemPlace): Record<string, unknown> {
  const { iterator, item, frame } = place;
  const index = frame?.row ?? place.index;
  const { total } = place;
  const first = index === 0;
  const last = index === total - 1;
  return {
    [iterator]: item,
    _index: index,
    _total: total,
    loop_index: index,
    iter: { [iterator]: item, index, _index: index, _total: total, _first: first, _last: last },
    loop: { index, first, last, length: total },
    ...(frame === undefined ? {} : { frame: { index: frame.index, rows: frame.rows, size: frame.rows.length } }),
  };
}

/** The same for the worker: a script finds its item without asking for it. */
export function itemArgs({ iterator, item, index, total, frame }: ItemPlace): JsonObject {
  return { [iterator]: item, _index: frame?.row ?? index, _total: total };
}
