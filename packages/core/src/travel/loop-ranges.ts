// The items of a loop, folded into at most so many ranges of consecutive indexes. When one too many is needed, neighbours are joined and
// every range covers twice as many items.
import type { BarState, Part, PartName } from './timeline.js';

export interface ItemRange {
  /** Indexes, both included. */
  readonly first: number;
  readonly last: number;
  readonly from: string;
  /** When the last of its commands ended so far. */
  readonly to: string | null;
  readonly commands: number;
  readonly open: number;
  readonly done: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Milliseconds of all its ended commands together. */
  readonly queued_ms: number;
  readonly starting_ms: number;
  readonly running_ms: number;
}

export interface LoopBar {
  readonly loop_id: string;
  /** Null: a cursor claims its rows as it goes. */
  readonly total: number | null;
  /** How many items a range covers. */
  size: number;
  ranges: ItemRange[];
}

const MAX_RANGES = 100;

export function startLoopBar(loopId: string, total: number | null): LoopBar {
  return { loop_id: loopId, total, size: 1, ranges: [] };
}

export function beginItem(loop: LoopBar, index: number, at: string): void {
  while (Math.floor(index / loop.size) >= MAX_RANGES) joinNeighbours(loop);
  const first = index - (index % loop.size);
  const item: ItemRange = { ...NOTHING, first, last: first + loop.size - 1, from: at, commands: 1, open: 1 };
  put(loop, item);
}

export function endItem(
  loop: LoopBar,
  index: number,
  ended: { readonly state: BarState; readonly parts: readonly Part[]; readonly at: string },
): void {
  const first = index - (index % loop.size);
  const spent = (part: PartName) =>
    ended.parts.reduce((sum, one) => sum + (one.part === part ? milliseconds(one, ended.at) : 0), 0);
  put(loop, {
    ...NOTHING,
    first,
    last: first + loop.size - 1,
    from: ended.at,
    to: ended.at,
    open: -1,
    done: ended.state === 'done' ? 1 : 0,
    failed: ended.state === 'failed' ? 1 : 0,
    cancelled: ended.state === 'cancelled' ? 1 : 0,
    queued_ms: spent('queued'),
    starting_ms: spent('starting'),
    running_ms: spent('running') + spent('waiting'),
  });
}

const NOTHING = {
  to: null,
  commands: 0,
  open: 0,
  done: 0,
  failed: 0,
  cancelled: 0,
  queued_ms: 0,
  starting_ms: 0,
  running_ms: 0,
} as const;

/** Ranges stand in order; items mostly come in order too, so the place is looked for from the end. */
function put(loop: LoopBar, range: ItemRange): void {
  let at = loop.ranges.length;
  while (at > 0 && (loop.ranges[at - 1]?.first ?? 0) >= range.first) at--;
  const there = loop.ranges[at];
  if (there?.first === range.first) loop.ranges[at] = joined(there, range);
  else loop.ranges.splice(at, 0, range);
}

function joinNeighbours(loop: LoopBar): void {
  const { ranges } = loop;
  loop.size *= 2;
  loop.ranges = [];
  for (const range of ranges) {
    const first = range.first - (range.first % loop.size);
    put(loop, { ...range, first, last: first + loop.size - 1 });
  }
}

function joined(a: ItemRange, b: ItemRange): ItemRange {
  return {
    first: a.first,
    last: a.last,
    from: isAfter(a.from, b.from) ? b.from : a.from,
    to: a.to === null || (b.to !== null && isAfter(b.to, a.to)) ? b.to : a.to,
    commands: a.commands + b.commands,
    open: a.open + b.open,
    done: a.done + b.done,
    failed: a.failed + b.failed,
    cancelled: a.cancelled + b.cancelled,
    queued_ms: a.queued_ms + b.queued_ms,
    starting_ms: a.starting_ms + b.starting_ms,
    running_ms: a.running_ms + b.running_ms,
  };
}

/** Times are texts with as many digits as there are, so they do not sort as texts. */
function isAfter(a: string, b: string): boolean {
  return Date.parse(a) > Date.parse(b);
}

function milliseconds({ from, to }: Part, end: string): number {
  return Math.max(0, Date.parse(to ?? end) - Date.parse(from));
}
