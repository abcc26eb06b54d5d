// What the events of a cursor loop do to its state. A frame holds the rows of one claim while their bodies run; no rows and no results
// are kept beyond that, because a cursor may go on for ever.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import type { CursorPart, CursorStart, ErrorInfo } from './events.js';
import { type CursorState, dictionary, type Frame, type LoopState } from './state.js';

/** Only the first failures are kept in words; all are counted. */
const KEPT_ERRORS = 100;

export function startCursor(start: CursorStart): CursorState {
  return {
    ...start,
    nextFrame: 0,
    filled: 0,
    claiming: 0,
    drained: false,
    claimFailed: false,
    failed: 0,
    frames: dictionary(),
  };
}

export function issueClaim(cursor: CursorState, frame: number): void {
  cursor.claiming++;
  cursor.nextFrame = Math.max(cursor.nextFrame, frame + 1);
}

/** No rows: there is nothing left to claim. */
export function endClaim(cursor: CursorState, part: CursorPart, data: Json): void {
  cursor.claiming--;
  const rows = rowsOf(data);
  if (rows.length === 0) {
    cursor.drained = true;
    return;
  }
  cursor.filled++;
  cursor.frames[part.frame] = { rows, next: 0, again: [], open: 0 };
}

export function failClaim(loop: LoopState, cursor: CursorState, error: string, info: ErrorInfo | null): void {
  cursor.claiming--;
  cursor.drained = true;
  cursor.claimFailed = true;
  loop.errors.push({ index: -1, error: `the claim of a frame failed: ${error}`, info });
}

/** It was on its way when the log was forked: it may still bring rows, although another one brought none. */
export function reopenClaim(cursor: CursorState): void {
  cursor.claiming--;
  cursor.drained = false;
}

export function openRow(cursor: CursorState, part: CursorPart | undefined, attempt: number): void {
  const frame = cursor.frames[part?.frame ?? -1];
  if (frame === undefined) return;
  frame.open++;
  const row = part?.row;
  if (row === undefined) {
    frame.next = frame.rows.length;
    frame.again = [];
    return;
  }
  frame.again = frame.again.filter((index) => index !== row);
  frame.next = Math.max(frame.next, row + 1);
  if (attempt > 1) cursor.failed--;
}

export function closeRow(cursor: CursorState, part: CursorPart | null, again = false): void {
  const frame = cursor.frames[part?.frame ?? -1];
  if (frame === undefined || part === null) return;
  frame.open--;
  if (again) {
    if (part.row === undefined) frame.next = 0;
    else frame.again.push(part.row);
  }
}

export function isOver(frame: Frame): boolean {
  return frame.open === 0 && !hasMore(frame);
}

/** Its rows have all run. */
export function commitFrame(cursor: CursorState, frame: number): void {
  delete cursor.frames[frame];
}

export function hasMore(frame: Frame): boolean {
  return frame.again.length > 0 || frame.next < frame.rows.length;
}

/** True when this failure is one of those that are kept in words. */
export function noteFailure(cursor: CursorState): boolean {
  cursor.failed++;
  return cursor.failed <= KEPT_ERRORS;
}

export function cursorValue(cursor: CursorState, succeeded: number, errors: JsonObject[]): Json {
  return {
    cursor: cursor.drained && !cursor.claimFailed ? 'drained' : 'stopped',
    frames: cursor.filled,
    results: [],
    stats: { total: succeeded + cursor.failed, success: succeeded, failed: cursor.failed },
    errors,
  };
}

/** A claim returns rows as objects, or as lists beside the names of their columns. */
export function rowsOf(data: Json): readonly Json[] {
  if (Array.isArray(data)) return data;
  if (!isObject(data)) return [];
  if (!Array.isArray(data.rows)) return data.data === undefined ? [] : rowsOf(data.data);
  const columns = data.columns;
  if (!Array.isArray(columns)) return data.rows;
  const names = columns.map((column) => String(isObject(column) ? (column.name ?? '') : column));
  return data.rows.map((row) =>
    Array.isArray(row) ? Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])) : row,
  );
}
