// Time travel: the log of an execution read up to a moment and handed to the pure folds of core/travel. Nothing is decided here.
import {
  causeOf,
  type EventRow,
  type ExecutionState,
  evolve,
  evolveAndCompare,
  foldTimeline,
  foldVariables,
  graphAt,
  type Id,
  initialState,
  type Moment,
  startTimeline,
  startVariables,
  type TimelinePage,
  timelineOf,
  variablesOf,
} from '@noetl/core';
import type { Catalog } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { readEvents } from '../log/index.js';
import { type DiffSide, diffLogs } from './diff.js';
import { type EventLink, linkById, linkByVersion, linksFrom } from './moments.js';
import { masked, shownChange, shownValue } from './shown.js';
import { createWalk } from './walk.js';

export interface Travel {
  timeline(id: Id, moment: Moment, page: TimelinePage): Promise<object>;
  graph(id: Id, moment: Moment): Promise<object>;
  variables(id: Id, moment: Moment, page: { after: string; limit: number }): Promise<object>;
  /** The last so many events up to a moment, oldest first, each with what it changed. */
  changes(id: Id, moment: Moment, limit: number): Promise<object>;
  neighbours(id: Id, eventId: Id): Promise<object>;
  diff(left: DiffSide, right: DiffSide): Promise<object>;
}

const MAX_CHANGES = 500;
const MAX_CONSEQUENCES = 100;

export function createTravel({ pools, catalog }: { readonly pools: Pools; readonly catalog: Catalog }): Travel {
  const walk = createWalk(pools);

  async function stateAt(id: Id, version: number): Promise<ExecutionState> {
    const state = initialState(id);
    await walk.to(id, version, (row) => evolve(state, row));
    return state;
  }

  return {
    async timeline(id, moment, page) {
      const at = await walk.place(id, moment);
      const timeline = startTimeline(page);
      await walk.to(id, at.stream_version, (row) => foldTimeline(timeline, row));
      return masked({ execution_id: id, at, ...timelineOf(timeline) });
    },

    async graph(id, moment) {
      const at = await walk.place(id, moment);
      const state = await stateAt(id, at.stream_version);
      const compiled = await catalog.compiled(state.catalogId);
      return masked({ execution_id: id, path: state.path, status: state.status, at, ...graphAt(compiled, state) });
    },

    async variables(id, moment, page) {
      const at = await walk.place(id, moment);
      const fold = startVariables(id);
      await walk.to(id, at.stream_version, (row) => foldVariables(fold, row));
      const all = variablesOf(fold).filter(({ name }) => name > page.after);
      const variables = all
        .slice(0, page.limit)
        .map((variable) => ({ ...variable, ...shownValue(variable.name.split('.'), variable.value) }));
      return { execution_id: id, at, variables, next: all.length > page.limit ? variables.at(-1)?.name : null };
    },

    async changes(id, moment, limit) {
      const at = await walk.place(id, moment);
      const from = Math.max(0, at.stream_version - limit);
      const state = await stateAt(id, from);
      const rows = await readEvents(walk.db(id), id, from, at.stream_version - from);
      const events = rows.map((row) => {
        const { changes, truncated } = evolveAndCompare(state, row, MAX_CHANGES);
        return { ...linkOf(row), changes: changes.map(shownChange), truncated };
      });
      return { execution_id: id, at, events, previous: from === 0 ? null : `#${from}` };
    },

    async neighbours(id, eventId) {
      const db = walk.db(id);
      const found = await linkById(db, id, eventId);
      const [row] = found === null ? [] : await readEvents(db, id, found.stream_version - 1, 1);
      if (row === undefined) throw new ApiProblem('not_found', `Execution ${id} has no event ${eventId}`);
      const cause = causeOf(row);
      const [previous, next, causing, consequences] = await Promise.all([
        linkByVersion(db, id, row.stream_version - 1),
        linkByVersion(db, id, row.stream_version + 1),
        cause === null ? null : linkById(db, id, cause),
        linksFrom(db, id, row, MAX_CONSEQUENCES + 1),
      ]);
      return {
        execution_id: id,
        event: linkOf(row),
        previous,
        next,
        cause: causing,
        consequences: consequences.slice(0, MAX_CONSEQUENCES),
        truncated: consequences.length > MAX_CONSEQUENCES,
      };
    },

    diff: (left, right) => diffLogs(walk, left, right),
  };
}

function linkOf(row: EventRow): EventLink {
  const { event_id, stream_version, event_type, node_name, status, command_id, created_at } = row;
  return { event_id, stream_version, event_type, node_name, status, command_id, created_at };
}
