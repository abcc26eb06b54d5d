// States kept between appends. A cached state is right exactly when its version equals the head in the database; the append
// statement checks that, so a cache can be cold or stale but never wrong. Least recently used states leave first.
import type { ExecutionState, Id } from '@noetl/core';

export interface StateCache {
  get(id: Id): ExecutionState | undefined;
  /** `events` is how many were folded in since the last call: a cheap measure of how heavy the state has become. */
  put(state: ExecutionState, events: number): void;
  drop(id: Id): void;
  readonly size: number;
}

export function createStateCache(limits: { states: number; events: number }): StateCache {
  const entries = new Map<Id, { state: ExecutionState; events: number }>();
  let total = 0;
  const drop = (id: Id) => {
    const entry = entries.get(id);
    if (entry === undefined) return;
    total -= entry.events;
    entries.delete(id);
  };
  return {
    get(id) {
      return entries.get(id)?.state;
    },
    put(state, events) {
      const weight = (entries.get(state.executionId)?.events ?? 0) + events;
      drop(state.executionId);
      entries.set(state.executionId, { state, events: weight });
      total += weight;
      for (const id of entries.keys()) {
        if ((entries.size <= limits.states && total <= limits.events) || id === state.executionId) break;
        drop(id);
      }
    },
    drop,
    get size() {
      return entries.size;
    },
  };
}
