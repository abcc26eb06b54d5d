// What one event changed in the state of its execution.
import { evolve } from '../engine/evolve.js';
import type { EventRow } from '../engine/row.js';
import type { ExecutionState } from '../engine/state.js';
import type { Json } from '../json/types.js';
import { type Difference, difference } from './difference.js';
import { viewOf } from './view.js';

/** Folds the event into the state and tells what that changed, at most so many things. */
export function evolveAndCompare(state: ExecutionState, row: EventRow, limit: number): Difference {
  const before = viewOf(state);
  evolve(state, row);
  return difference(before as unknown as Json, viewOf(state) as unknown as Json, limit);
}
