// A log read in the order of its versions, up to a moment.
import type { EventRow, Id, Moment } from '@noetl/core';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { readEvents } from '../log/index.js';
import { type Place, placeOf } from './moments.js';
import type { Queryable } from './store.js';

export interface Walk {
  db(id: Id): Queryable;
  /** A 404 problem when there is no such execution, or when nothing had happened by then. */
  place(id: Id, moment: Moment): Promise<Place>;
  /** Every event up to a version, page by page. */
  to(id: Id, version: number, take: (row: EventRow) => void): Promise<void>;
}

const PAGE = 2_000;

export function createWalk(pools: Pools): Walk {
  const db = (id: Id): Queryable => pools.forExecution(id).pool;
  return {
    db,
    async place(id, moment) {
      const place = await placeOf(db(id), id, moment);
      if (place !== undefined) return place;
      const isKnown = moment.type !== 'end' && (await placeOf(db(id), id, { type: 'end' })) !== undefined;
      throw new ApiProblem('not_found', isKnown ? 'Nothing had happened by then' : `Execution not found: ${id}`);
    },
    async to(id, version, take) {
      for (let after = 0; after < version; ) {
        const rows = await readEvents(db(id), id, after, Math.min(PAGE, version - after));
        for (const row of rows) take(row);
        const last = rows.at(-1);
        // Retention took the log away while it was read.
        if (last === undefined) throw new ApiProblem('not_found', `Execution not found: ${id}`);
        after = last.stream_version;
      }
    },
  };
}
