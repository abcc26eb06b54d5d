// A state as JSON and back. A snapshot is only a shortcut for folding the log: what cannot be read is not repaired, the log is folded.
import type { Id } from '../ids/index.js';
import { isObject } from '../json/index.js';
import type { Json } from '../json/types.js';
import { type CommandState, dictionary, type ExecutionState, initialState, type StepState } from './state.js';

/** Bumped when the shape of the state changes; older snapshots are then ignored. */
export const STATE_FORMAT = 1;

const NAMED = ['ctx', 'steps', 'waiting', 'commands', 'signals'] as const;

/** Undefined when this is not a whole state of the execution. */
export function restoreState(executionId: Id, json: Json): ExecutionState | undefined {
  if (!isObject(json) || json.executionId !== executionId) return undefined;
  const shape = initialState(executionId);
  const complete = Object.keys(shape).every((key) => key in json) && NAMED.every((key) => isObject(json[key] ?? null));
  if (!complete || typeof json.version !== 'number') return undefined;
  const state = json as unknown as ExecutionState;
  return {
    ...state,
    ctx: named(state.ctx),
    steps: named(restoreSteps(state.steps)),
    waiting: named(state.waiting),
    commands: named(inOrderOfIssue(state.commands)),
    signals: named(state.signals),
  };
}

/** Keyed by names an author chose: without a prototype, as in a state that was folded. */
function named<T>(values: Record<string, T>): Record<string, T> {
  return Object.assign(dictionary<T>(), values);
}

function restoreSteps(steps: Record<string, StepState>): Record<string, StepState> {
  for (const step of Object.values(steps))
    if (step.loop?.cursor != null) step.loop.cursor.frames = named(step.loop.cursor.frames);
  return steps;
}

/** The database does not keep the order of keys, and the oldest command is the first to be served. */
function inOrderOfIssue(commands: Record<string, CommandState>): Record<string, CommandState> {
  const byAge = Object.entries(commands).sort(([, a], [, b]) => (BigInt(a.eventId) < BigInt(b.eventId) ? -1 : 1));
  return Object.fromEntries(byAge);
}
