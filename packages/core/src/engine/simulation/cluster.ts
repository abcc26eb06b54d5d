// Two servers over one durable log, as packages/server/src/log/batch.ts runs them: each keeps a cached state, decides on it, and
// commits only when the log has not moved on in the meantime. Either may crash before or after a commit, at any fact.
import type { Id } from '../../ids/index.js';
import { canonicalJson } from '../../json/index.js';
import type { CompiledPlaybook } from '../compile.js';
import { type Decision, decide, type Fact } from '../decide.js';
import { evolve } from '../evolve.js';
import type { EventRow } from '../row.js';
import { dictionary, type ExecutionState, initialState } from '../state.js';
import type { World } from '../turn.js';
import type { Random } from './random.js';

export const EXECUTION = '700000000000000001' as Id;
export const CATALOG = '600000000000000001' as Id;

export interface Answer extends Decision {
  /** Stored before under the same event id. */
  readonly duplicate?: boolean;
}

export interface Cluster {
  /** Undefined: the server crashed; the caller cannot know whether the fact was stored. */
  submit(fact: Fact): Answer | undefined;
  /** A fold of the log so far, kept by itself: never the state that the engine decided on. */
  readonly folded: Readonly<ExecutionState>;
  readonly log: readonly EventRow[];
  nextId(): Id;
}

export interface ClusterOptions {
  readonly compiled: CompiledPlaybook;
  readonly random: Random;
  /** Probability of a crash around each commit. */
  readonly crash: number;
}

export function createCluster({ compiled, random, crash }: ClusterOptions): Cluster {
  const log: EventRow[] = [];
  const stored = new Set<Id>();
  const snapshots: string[] = [];
  const folded = initialState(EXECUTION);
  const servers: { state: ExecutionState | undefined }[] = [{ state: undefined }, { state: undefined }];
  let ids = 800_000_000_000_000_000n;
  const nextId = () => String(ids++) as Id;
  const world = (): World => ({
    now: new Date(1_800_000_000_000 + log.length * 1000).toISOString(),
    values: {},
    nextId,
  });

  function rebuild(): ExecutionState {
    const snapshot = snapshots.length > 0 && random.chance(0.5) ? random.pick(snapshots) : undefined;
    const state = snapshot === undefined ? initialState(EXECUTION) : restore(snapshot);
    return catchUp(state);
  }

  function catchUp(state: ExecutionState): ExecutionState {
    for (const row of log.slice(state.version)) evolve(state, row);
    return state;
  }

  function commit(rows: readonly EventRow[], state: ExecutionState): void {
    for (const row of rows) {
      if (row.stream_version !== log.length + 1) throw new Error(`version ${row.stream_version} follows ${log.length}`);
      if (stored.has(row.event_id)) throw new Error(`event id ${row.event_id} is in the log twice`);
      stored.add(row.event_id);
      // What the database gives back is never the object that went in.
      const kept = JSON.parse(JSON.stringify(row)) as EventRow;
      log.push(kept);
      evolve(folded, kept);
    }
    assertSame(state, folded, 'the live state is not the fold of the log');
    if (rows.length > 0 && random.chance(0.1)) snapshots.push(JSON.stringify(state));
  }

  function submit(fact: Fact): Answer | undefined {
    if (fact.type === 'event' && fact.row.event_id !== null && stored.has(fact.row.event_id)) {
      return { rows: [], events: [], duplicate: true };
    }
    for (;;) {
      const server = random.pick(servers);
      const state = server.state ?? rebuild();
      // A stale decision costs a fold of the whole log: often enough to be met in every run, not in every fact.
      if (random.chance(0.85)) catchUp(state);
      const expected = state.version;
      const decision = decide(compiled, state, fact, world());
      server.state = undefined;
      if (random.chance(crash)) return undefined;
      if (expected !== log.length) {
        if (decision.rows.length === 0) server.state = catchUp(state);
        continue; // the log has moved on at the other server: decide again on its head
      }
      commit(decision.rows, state);
      if (random.chance(crash)) return undefined;
      server.state = state;
      return decision;
    }
  }

  return { submit, folded, log, nextId };
}

/** A state that was written down as JSON: author-chosen names must not meet a prototype when it comes back. */
export function restore(snapshot: string): ExecutionState {
  const state = JSON.parse(snapshot) as ExecutionState;
  return {
    ...state,
    ctx: Object.assign(dictionary(), state.ctx),
    steps: Object.assign(dictionary(), state.steps),
    waiting: Object.assign(dictionary(), state.waiting),
    commands: Object.assign(dictionary(), state.commands),
  };
}

/** `fold(log) == state`, from the first event and from a snapshot of every prefix length that is asked for. */
export function assertReplays(
  log: readonly EventRow[],
  state: Readonly<ExecutionState>,
  cuts: readonly number[],
): void {
  for (const cut of [0, ...cuts]) {
    const prefix = initialState(EXECUTION);
    for (const row of log.slice(0, cut)) evolve(prefix, row);
    const resumed = restore(JSON.stringify(prefix));
    for (const row of log.slice(cut)) evolve(resumed, row);
    assertSame(state, resumed, `a fold from a snapshot at version ${cut} differs`);
  }
}

function assertSame(left: unknown, right: unknown, message: string): void {
  if (same(left, right)) return;
  throw new Error(`${message}:\n  live ${canonicalJson(left)}\n  fold ${canonicalJson(right)}`);
}

/** Equal as JSON. Runs after every fact, so it compares in place instead of writing both states out. */
export function same(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(right, key) &&
      same((left as Record<string, unknown>)[key], (right as Record<string, unknown>)[key]),
  );
}
