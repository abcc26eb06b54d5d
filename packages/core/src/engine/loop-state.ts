// What the events of a loop do to its state. Results are kept by index, so they come out in the order of the items whatever order the
// iterations end in.
import type { Json } from '../json/types.js';
import type { ErrorInfo, LoopStart } from './events.js';
import type { LoopState } from './state.js';

export function startLoop(start: LoopStart): LoopState {
  return { ...start, next: 0, running: 0, succeeded: 0, results: [], errors: [] };
}

/** Called for a further attempt of an item, too. */
export function issueIteration(loop: LoopState, index: number): void {
  loop.next = Math.max(loop.next, index + 1);
  loop.running++;
  while (loop.results.length < loop.next) loop.results.push(null);
}

export function endIteration(loop: LoopState, index: number, data: Json): void {
  loop.running--;
  loop.succeeded++;
  loop.results[index] = data;
}

export function failIteration(loop: LoopState, index: number, error: string, info: ErrorInfo | null): void {
  loop.running--;
  loop.errors.push({ index, error, info });
}

/** The value of the step: every result in order, and how it went. */
export function loopValue(loop: LoopState): Json {
  const results = loop.results;
  const errors = [...loop.errors].sort((a, b) => a.index - b.index);
  return {
    results,
    data: results,
    stats: { total: loop.items.length, success: loop.succeeded, failed: errors.length },
    errors: errors.map(({ index, error }) => ({ index, error })),
  };
}
