// Two states side by side: of one execution at two moments, or of two executions. Ids and times always differ between executions and say
// nothing, so they are left out; what is compared is what a person would call the outcome.
import type { ExecutionState } from '../engine/state.js';
import type { Json } from '../json/types.js';
import { type Change, type Difference, difference } from './difference.js';
import type { BarState, VisitBar } from './timeline.js';
import type { VariableFold, Writer } from './variables.js';
import { UNTOUCHED, viewOf } from './view.js';

export interface WrittenChange extends Change {
  /** Who wrote the value before, and after; null where that is not known. */
  readonly before_by: Writer | null;
  readonly after_by: Writer | null;
}

export interface Comparison extends Omit<Difference, 'changes'> {
  readonly changes: readonly WrittenChange[];
}

export function compareStates(
  left: VariableFold,
  right: VariableFold,
  options: {
    readonly limit: number /** Also open commands, which are different ones in every execution. */;
    readonly commands: boolean;
  },
): Comparison {
  const before = shown(left.state, right.state, options.commands);
  const after = shown(right.state, left.state, options.commands);
  const { changes, truncated } = difference(before, after, options.limit);
  return {
    truncated,
    changes: changes.map((change) => ({
      ...change,
      before_by: writerOf(left, change),
      after_by: writerOf(right, change),
    })),
  };
}

/** A step that only the other side has touched stands here too, untouched: what differs is then told field by field. */
function shown(state: Readonly<ExecutionState>, other: Readonly<ExecutionState>, withCommands: boolean): Json {
  const { commands, steps, ...rest } = viewOf(state);
  const all: Record<string, Json> = Object.assign(Object.create(null), steps);
  for (const name of Object.keys(other.steps)) all[name] ??= UNTOUCHED;
  return { ...rest, steps: all, ...(withCommands ? { commands } : {}) } as unknown as Json;
}

function writerOf({ writers }: VariableFold, { path }: Change): Writer | null {
  const [root, name, field, key] = path;
  if (root === 'workload' || root === 'ctx') return writers.get(`${root}/${name}`) ?? null;
  if (root !== 'steps') return null;
  const found = field === 'result' ? `result/${name}` : field === 'vars' ? `step/${name}/${key}` : '';
  return writers.get(found) ?? null;
}

export interface AlignedVisit {
  readonly step: string;
  readonly visit: number;
  readonly left: VisitSummary | null;
  readonly right: VisitSummary | null;
  /** Both are there and ended the same way. */
  readonly same: boolean;
}

export interface VisitSummary {
  readonly event_id: string;
  readonly state: BarState;
  readonly error: string | null;
  readonly duration_ms: number | null;
  readonly attempts: number;
}

/** The visits of two executions, paired by step and number of the visit, in the order of the first one. */
export function alignVisits(left: readonly VisitBar[], right: readonly VisitBar[]): AlignedVisit[] {
  const keyOf = ({ step, visit }: VisitBar) => JSON.stringify([step, visit]);
  const others = new Map(right.map((bar) => [keyOf(bar), bar]));
  const pairs: AlignedVisit[] = left.map((bar) => {
    const other = others.get(keyOf(bar));
    others.delete(keyOf(bar));
    return pair(bar, other);
  });
  return [...pairs, ...[...others.values()].map((bar) => pair(undefined, bar))];
}

function pair(left: VisitBar | undefined, right: VisitBar | undefined): AlignedVisit {
  const one = left ?? right;
  return {
    step: one?.step ?? '',
    visit: one?.visit ?? 0,
    left: left === undefined ? null : summaryOf(left),
    right: right === undefined ? null : summaryOf(right),
    same: left !== undefined && right !== undefined && left.state === right.state && left.error === right.error,
  };
}

function summaryOf({ event_id, state, error, from, to, commands, loop }: VisitBar): VisitSummary {
  return {
    event_id,
    state,
    error,
    duration_ms: to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from)),
    attempts: loop === null ? commands.length : loop.ranges.reduce((sum, range) => sum + range.commands, 0),
  };
}
