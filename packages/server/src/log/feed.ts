// Who wants to know that an execution has moved. Followers read the log themselves; this only wakes them, so a wake-up that is
// lost or doubled costs nothing but time.
import type { Id } from '@noetl/core';

export interface Feed {
  publish(id: Id): void;
  subscribe(id: Id, wake: () => void): () => void;
  readonly followers: number;
}

export function createFeed(): Feed {
  const byExecution = new Map<Id, Set<() => void>>();
  let followers = 0;
  return {
    publish(id) {
      for (const wake of byExecution.get(id) ?? []) wake();
    },
    subscribe(id, wake) {
      const set = byExecution.get(id) ?? new Set();
      byExecution.set(id, set.add(wake));
      followers++;
      return () => {
        if (!set.delete(wake)) return;
        followers--;
        if (set.size === 0) byExecution.delete(id);
      };
    },
    get followers() {
      return followers;
    },
  };
}
