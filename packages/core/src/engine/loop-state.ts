// What the events of a loop do to its state. Results are kept by index, so they come out in the order of the items whatever order the
// iterations end in.
import type { Json } from '../json/types.js';
import { closeRow, cursorValue, noteFailure, openRow, startCursor } from './cursor-state.js';
import type { CursorPart, ErrorInfo, LoopStart } from './events.js';
import type { CommandState, LoopState } from './state.js';

export function startLoop({ cursor, ...start }: LoopStart): LoopState {
  return {
    ...start,
    next: 0,
    again: [],
    running: 0,
    succeeded: 0,
    results: [],
    errors: [],
    cursor: cursor === undefined ? null : startCursor(cursor),
  };
}

/** Called for a further attempt of an item, too: how the last one failed is then over. */
export function issueIteration(loop: LoopState, index: number, attempt: number, part: CursorPart | undefined): void {
  loop.running++;
  const repeated = loop.again.indexOf(index);
  if (repeated >= 0) loop.again.splice(repeated, 1);
  if (attempt > 1) loop.errors = loop.errors.filter((error) => error.index !== index);
  loop.next = Math.max(loop.next, index + 1);
  if (loop.cursor !== null) return openRow(loop.cursor, part, attempt);
  while (loop.results.length < loop.next) loop.results.push(null);
}

export function endIteration(loop: LoopState, command: CommandState, data: Json): void {
  loop.running--;
  loop.succeeded++;
  if (loop.cursor !== null) closeRow(loop.cursor, command.cursor);
  else loop.results[command.iteration ?? 0] = data;
}

export function failIteration(loop: LoopState, command: CommandState, error: string, info: ErrorInfo | null): void {
  loop.running--;
  if (loop.cursor !== null) {
    closeRow(loop.cursor, command.cursor);
    if (!noteFailure(loop.cursor)) return;
  }
  loop.errors.push({ index: command.iteration ?? 0, error, info });
}

/** It was running when the log was forked: it will be issued again. */
export function reopenIteration(loop: LoopState, command: CommandState): void {
  loop.running--;
  if (loop.cursor === null) loop.again.push(command.iteration ?? 0);
  else closeRow(loop.cursor, command.cursor, true);
}

/** The value of the step: every result in order, and how it went. */
export function loopValue(loop: LoopState): Json {
  const errors = [...loop.errors].sort((a, b) => a.index - b.index).map(({ index, error }) => ({ index, error }));
  if (loop.cursor !== null) return cursorValue(loop.cursor, loop.succeeded, errors);
  const results = loop.results;
  return {
    results,
    data: results,
    stats: { total: loop.items.length, success: loop.succeeded, failed: errors.length },
    errors,
  };
}
