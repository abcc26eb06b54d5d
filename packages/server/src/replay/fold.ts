// The log of one execution folded to its state, page by page: what is in memory is the state and two pages, however long the log is.
// The next page is on its way while this one is folded.
import { foldReplayEvent, type Id, type ReplayFold } from '@noetl/core';
import type { Cutoff } from './request.js';
import { type Queryable, type ReplayRow, readReplayRows } from './store.js';

/** How far a fold of the log has come. */
export interface LogFold {
  readonly fold: ReplayFold;
  /** The highest version folded in. Equal to the number of events exactly when these are the first events of the log. */
  version: number;
  /** The limit ended the fold, and the log goes on with this event. */
  next: Id | undefined;
}

export interface FoldOptions {
  readonly executionId: Id;
  readonly cutoff: Cutoff;
  /** Of the whole fold, including what it began with. */
  readonly limit: number;
}

const PAGE = 4_000;

export async function foldOn(db: Queryable, start: ReplayFold, options: FoldOptions): Promise<LogFold> {
  const { executionId, cutoff, limit } = options;
  const folded: LogFold = { fold: start, version: start.event_count, next: undefined };
  const read = (after: Id, count: number): Promise<ReplayRow[]> =>
    readReplayRows(db, executionId, after, cutoff, Math.min(PAGE, limit - count) + 1);
  let page = await read(start.last_event_id ?? ('0' as Id), start.event_count);
  for (;;) {
    const wanted = Math.min(PAGE, limit - start.event_count);
    const more = page[wanted]?.event.event_id;
    const rows = page.slice(0, wanted);
    const count = start.event_count + rows.length;
    const last = rows.at(-1)?.event.event_id;
    const following = more !== undefined && last !== undefined && count < limit ? read(last, count) : undefined;
    // Whoever awaits it hears of its failure; until then it is not unhandled.
    following?.catch(() => undefined);
    for (const { event, version } of rows) {
      foldReplayEvent(start, event);
      folded.version = Math.max(folded.version, version);
    }
    if (following === undefined) {
      folded.next = more;
      return folded;
    }
    page = await following;
  }
}
