// States for reading. Appends have their own, which may hold what is not committed yet; these hold what the log says and no more. A state that
// was read before is only brought up to date, so asking again and again costs what has happened since, not the whole log.
import { type ExecutionState, type Id, initialState } from '@noetl/core';

const MAX_STATES = 2_000;

export function createReader(
  catchUp: (state: ExecutionState) => Promise<void>,
): (id: Id) => Promise<Readonly<ExecutionState> | undefined> {
  const states = new Map<Id, { readonly state: ExecutionState; last: Promise<void> }>();
  return async (id) => {
    const entry = states.get(id) ?? { state: initialState(id), last: Promise.resolve() };
    states.delete(id);
    states.set(id, entry);
    // One fold at a time: two would both apply the same rows.
    const turn = entry.last.catch(() => undefined).then(() => catchUp(entry.state));
    entry.last = turn;
    try {
      await turn;
    } catch (error) {
      states.delete(id); // half folded
      throw error;
    }
    if (entry.state.version === 0) states.delete(id);
    const [oldest] = states.keys();
    if (states.size > MAX_STATES && oldest !== undefined) states.delete(oldest);
    return entry.state.version === 0 ? undefined : entry.state;
  };
}
