// Stored states: a fold of a long log need not start at zero. A stored state only saves time, so whoever reads one first makes sure that
// it gives what a fold from zero would give; what does not pass is ignored, never repaired. Two checks need the log itself and are the
// caller's: that the log has `event_count` events up to `version` (a straggler may have come later), and that a cutoff by time leaves
// none of them out.
import type { Id } from '../ids/index.js';
import { type ExactJson, isExactObject } from './exact-json.js';
import {
  isIntact,
  REPLAY_FOLD_VERSION,
  type ReplayState,
  type ReplaySubject,
  readReplayState,
  replayBody,
} from './state.js';

export const REPLAY_AGGREGATE_TYPE = 'replay_state';

export function replayAggregateId({
  execution_id,
  projection,
}: Pick<ReplaySubject, 'execution_id' | 'projection'>): string {
  return `execution/${execution_id}/${projection}`;
}

/** A row of `noetl.projection_snapshot`. */
export interface StoredReplayState {
  readonly aggregate_id: string;
  readonly aggregate_type: string;
  /** The last event in the state. */
  readonly version: Id;
  /** The body, kept as text (a string inside jsonb): jsonb would spell its numbers anew, and the checksums would no longer hold. */
  readonly snapshot: string;
  /** Hexadecimal, without its type. */
  readonly checksum: string;
  readonly meta: ExactJson;
}

/** Undefined for a state without events: there is nothing to save. */
export function storeReplayState(state: ReplayState): StoredReplayState | undefined {
  if (state.last_event_id === undefined) return undefined;
  return {
    aggregate_id: replayAggregateId(state),
    aggregate_type: REPLAY_AGGREGATE_TYPE,
    version: state.last_event_id,
    snapshot: replayBody(state),
    checksum: state.checksum.value,
    meta: { fold_version: REPLAY_FOLD_VERSION, event_count: state.event_count },
  };
}

export type StoredReplayProblem = 'other_fold' | 'unreadable' | 'other_log' | 'changed' | 'other_upcasters';

export type RestoredReplayState =
  | { readonly usable: true; readonly state: ReplayState }
  | { readonly usable: false; readonly problem: StoredReplayProblem };

/** @param digest of the upcasters that the rest of the log will pass through. */
export function restoreReplayState(stored: StoredReplayState, digest?: string): RestoredReplayState {
  if (!isExactObject(stored.meta) || stored.meta['fold_version'] !== REPLAY_FOLD_VERSION) return unusable('other_fold');
  let state: ReplayState;
  try {
    state = readReplayState(stored.snapshot);
  } catch {
    return unusable('unreadable');
  }
  if (state.last_event_id !== stored.version || replayAggregateId(state) !== stored.aggregate_id) {
    return unusable('other_log');
  }
  if (state.checksum.value !== stored.checksum || !isIntact(state)) return unusable('changed');
  return state.upcaster_registry_digest === digest ? { usable: true, state } : unusable('other_upcasters');
}

function unusable(problem: StoredReplayProblem): RestoredReplayState {
  return { usable: false, problem };
}
