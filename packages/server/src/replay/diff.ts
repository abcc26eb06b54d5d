// One execution at two moments, or two executions, side by side.
import {
  alignVisits,
  compareStates,
  foldTimeline,
  foldVariables,
  type Id,
  isObject,
  type Json,
  type JsonObject,
  type Moment,
  startTimeline,
  startVariables,
  type VariableFold,
  type VisitBar,
} from '@noetl/core';
import type { Place } from './moments.js';
import { masked, shownWrittenChange } from './shown.js';
import type { Walk } from './walk.js';

export interface DiffSide {
  readonly id: Id;
  readonly moment: Moment;
}

const MAX_CHANGES = 500;
const MAX_VISITS = 2_000;

export async function diffLogs(walk: Walk, left: DiffSide, right: DiffSide): Promise<object> {
  const one = await fold(walk, left);
  const other = await fold(walk, right);
  const isSameLog = left.id === right.id;
  const { changes, truncated } = compareStates(one.fold, other.fold, { limit: MAX_CHANGES, commands: isSameLog });
  return {
    left: headOf(one),
    right: headOf(other),
    ...(isSameLog ? { events_between: other.at.stream_version - one.at.stream_version } : relationOf(one, other)),
    changes: changes.map(shownWrittenChange),
    truncated: truncated || one.truncated || other.truncated,
    ...(isSameLog ? {} : visitsOf(one, other)),
  };
}

interface Folded {
  readonly id: Id;
  readonly at: Place;
  readonly fold: VariableFold;
  readonly bars: readonly VisitBar[];
  readonly truncated: boolean;
  /** Which executions the log was copied from, and how many events of each. */
  readonly copied: ReadonlyMap<Json, number>;
}

async function fold(walk: Walk, { id, moment }: DiffSide): Promise<Folded> {
  const at = await walk.place(id, moment);
  const variables = startVariables(id);
  const timeline = startTimeline({ after: 0, limit: MAX_VISITS });
  const copied = new Map<Json, number>();
  await walk.to(id, at.stream_version, (row) => {
    foldVariables(variables, row);
    foldTimeline(timeline, row);
    const from = isObject(row.meta) && isObject(row.meta.forked_from) ? row.meta.forked_from.execution_id : undefined;
    if (from !== undefined) copied.set(from, (copied.get(from) ?? 0) + 1);
  });
  return { id, at, fold: variables, bars: timeline.bars, truncated: timeline.visits > MAX_VISITS, copied };
}

function headOf({ id, at, fold: { state } }: Folded): object {
  return { execution_id: id, at, status: state.status };
}

function relationOf(left: Folded, right: Folded): JsonObject {
  const ofLeft = right.copied.get(left.id);
  if (ofLeft !== undefined) return { forked: 'right_from_left', copied_events: ofLeft };
  const ofRight = left.copied.get(right.id);
  return ofRight === undefined ? { forked: null } : { forked: 'left_from_right', copied_events: ofRight };
}

function visitsOf(left: Folded, right: Folded): object {
  const visits = masked(alignVisits(left.bars, right.bars));
  return { visits, first_difference: visits.find((visit) => !visit.same) ?? null };
}
