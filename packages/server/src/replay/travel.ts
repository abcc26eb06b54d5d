// Time travel: the log of an execution read up to a moment and handed to the pure folds of core/travel. Nothing is decided here.
import {
  alignVisits,
  type Change,
  causeOf,
  compareStates,
  type EventRow,
  type ExecutionState,
  evolve,
  evolveAndCompare,
  foldTimeline,
  foldVariables,
  graphAt,
  type Id,
  initialState,
  isObject,
  type Json,
  type JsonObject,
  type Moment,
  redact,
  startTimeline,
  startVariables,
  type TimelinePage,
  timelineOf,
  type VariableFold,
  type VisitBar,
  variablesOf,
  type WrittenChange,
} from '@noetl/core';
import type { Catalog } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { readEvents } from '../log/index.js';
import { linkById, linkByVersion, linksFrom, type Place, placeOf } from './moments.js';
import { shownValue } from './shown.js';
import type { Queryable } from './store.js';

export interface TravelDeps {
  readonly pools: Pools;
  readonly catalog: Catalog;
}

const PAGE = 2_000;
const MAX_CHANGES = 500;
const MAX_VISITS = 2_000;
const MAX_CONSEQUENCES = 100;

export function createTravel({ pools, catalog }: TravelDeps) {
  const dbOf = (id: Id): Queryable => pools.forExecution(id).pool;

  async function mustPlace(id: Id, moment: Moment): Promise<Place> {
    const place = await placeOf(dbOf(id), id, moment);
    if (place !== undefined) return place;
    const known = moment.type !== 'end' && (await placeOf(dbOf(id), id, { type: 'end' })) !== undefined;
    throw new ApiProblem('not_found', known ? 'Nothing had happened by then' : `Execution not found: ${id}`);
  }

  async function foldTo(id: Id, version: number, take: (row: EventRow) => void): Promise<void> {
    for (let after = 0; after < version; ) {
      const rows = await readEvents(dbOf(id), id, after, Math.min(PAGE, version - after));
      for (const row of rows) take(row);
      const last = rows.at(-1);
      // Retention took the log away while it was read.
      if (last === undefined) throw new ApiProblem('not_found', `Execution not found: ${id}`);
      after = last.stream_version;
    }
  }

  async function stateAt(id: Id, version: number): Promise<ExecutionState> {
    const state = initialState(id);
    await foldTo(id, version, (row) => evolve(state, row));
    return state;
  }

  return {
    async timeline(id: Id, moment: Moment, page: TimelinePage): Promise<object> {
      const at = await mustPlace(id, moment);
      const timeline = startTimeline(page);
      await foldTo(id, at.stream_version, (row) => foldTimeline(timeline, row));
      return masked({ execution_id: id, at, ...timelineOf(timeline) });
    },

    async graph(id: Id, moment: Moment): Promise<object> {
      const at = await mustPlace(id, moment);
      const state = await stateAt(id, at.stream_version);
      const compiled = await catalog.compiled(state.catalogId);
      return masked({ execution_id: id, path: state.path, status: state.status, at, ...graphAt(compiled, state) });
    },

    async variables(id: Id, moment: Moment, page: { after: string; limit: number }): Promise<object> {
      const at = await mustPlace(id, moment);
      const fold = startVariables(id);
      await foldTo(id, at.stream_version, (row) => foldVariables(fold, row));
      const all = variablesOf(fold).filter(({ name }) => name > page.after);
      const variables = all
        .slice(0, page.limit)
        .map((variable) => ({ ...variable, ...shownValue(variable.name.split('.'), variable.value) }));
      return { execution_id: id, at, variables, next: all.length > page.limit ? variables.at(-1)?.name : null };
    },

    /** The last so many events up to a moment, oldest first, each with what it changed. */
    async changes(id: Id, moment: Moment, limit: number): Promise<object> {
      const at = await mustPlace(id, moment);
      const from = Math.max(0, at.stream_version - limit);
      const state = await stateAt(id, from);
      const rows = await readEvents(dbOf(id), id, from, at.stream_version - from);
      const events = rows.map((row) => {
        const { changes, truncated } = evolveAndCompare(state, row, MAX_CHANGES);
        return { ...linkOf(row), changes: changes.map(shownChange), truncated };
      });
      return { execution_id: id, at, events, previous: from === 0 ? null : `#${from}` };
    },

    async neighbours(id: Id, eventId: Id): Promise<object> {
      const db = dbOf(id);
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

    /** One execution at two moments, or two executions. */
    async diff(left: { id: Id; moment: Moment }, right: { id: Id; moment: Moment }): Promise<object> {
      const sameLog = left.id === right.id;
      const one = await sideOf(left.id, left.moment);
      const other = await sideOf(right.id, right.moment);
      const { changes, truncated } = compareStates(one.fold, other.fold, { limit: MAX_CHANGES, commands: sameLog });
      const visits = sameLog ? undefined : masked(alignVisits(one.bars, other.bars));
      return {
        left: { execution_id: left.id, at: one.at, status: one.fold.state.status },
        right: { execution_id: right.id, at: other.at, status: other.fold.state.status },
        ...(sameLog ? { events_between: other.at.stream_version - one.at.stream_version } : relationOf(one, other)),
        changes: changes.map(shownWrittenChange),
        truncated: truncated || one.truncated || other.truncated,
        ...(visits === undefined ? {} : { visits, first_difference: visits.find((visit) => !visit.same) ?? null }),
      };
    },
  };

  interface Side {
    readonly id: Id;
    readonly at: Place;
    readonly fold: VariableFold;
    readonly bars: readonly VisitBar[];
    readonly truncated: boolean;
    /** Which executions it was copied from, and how many events of each. */
    readonly copied: ReadonlyMap<Json, number>;
  }

  async function sideOf(id: Id, moment: Moment): Promise<Side> {
    const at = await mustPlace(id, moment);
    const fold = startVariables(id);
    const timeline = startTimeline({ after: 0, limit: MAX_VISITS });
    const copied = new Map<Json, number>();
    await foldTo(id, at.stream_version, (row) => {
      foldVariables(fold, row);
      foldTimeline(timeline, row);
      const source =
        isObject(row.meta) && isObject(row.meta.forked_from) ? row.meta.forked_from.execution_id : undefined;
      if (source !== undefined) copied.set(source, (copied.get(source) ?? 0) + 1);
    });
    return { id, at, fold, bars: timeline.bars, truncated: timeline.visits > MAX_VISITS, copied };
  }

  function relationOf(left: Side, right: Side): JsonObject {
    if (right.copied.has(left.id)) return { forked: 'right_from_left', copied_events: right.copied.get(left.id) ?? 0 };
    if (left.copied.has(right.id)) return { forked: 'left_from_right', copied_events: left.copied.get(right.id) ?? 0 };
    return { forked: null };
  }
}

export type Travel = ReturnType<typeof createTravel>;

/** Error texts may quote anything. */
function masked<T extends object>(view: T): T {
  return redact(view as unknown as Json) as unknown as T;
}

function linkOf(row: EventRow): JsonObject {
  const { event_id, stream_version, event_type, node_name, status, command_id, created_at } = row;
  return { event_id, stream_version, event_type, node_name, status, command_id, created_at };
}

function shownChange({ path, kind, before, after }: Change): JsonObject {
  const shown = (name: 'before' | 'after', value: Json | undefined): JsonObject => {
    if (value === undefined) return {};
    const { value: masked, size } = shownValue(path, value);
    return { [name]: masked, ...(size === undefined ? {} : { [`${name}_size`]: size }) };
  };
  return { path: [...path], kind, ...shown('before', before), ...shown('after', after) };
}

function shownWrittenChange(change: WrittenChange): JsonObject {
  const { before_by, after_by } = change;
  return {
    ...shownChange(change),
    before_by: before_by as unknown as JsonObject | null,
    after_by: after_by as unknown as JsonObject | null,
  };
}
