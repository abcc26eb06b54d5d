// Two servers over one durable log, as packages/server/src/log/batch.ts runs them: each keeps a cached state, decides on it, and
// commits only when the log has not moved on in the meantime. Either may crash before or after a commit, at any fact. A decision is a
// pure function of the state it was made on, so a server that decides on an old state stands for one that decided while the other wrote.
import type { Id } from '../../ids/index.js';
import { canonicalJson } from '../../json/index.js';
import type { Json } from '../../json/types.js';
import type { CompiledPlaybook } from '../compile.js';
import { type Decision, decide, type Fact } from '../decide.js';
import { evolve } from '../evolve.js';
import type { Posted } from '../messages.js';
import type { EventRow } from '../row.js';
import { type ExecutionState, initialState } from '../state.js';
import { restoreState } from '../state-json.js';
import type { World } from '../turn.js';
import type { Random } from './random.js';
import { moves } from './rows.js';

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
  /** The `command.issued` of each command. */
  readonly issued: ReadonlyMap<string, EventRow>;
  /** Decisions that were thrown away because the log had moved on. */
  readonly stale: number;
}

/** What all executions share. */
export interface Surroundings {
  now(): string;
  /** The same in milliseconds. */
  nowMs(): number;
  nextId(): Id;
}

export interface ClusterOptions {
  readonly executionId: Id;
  readonly compiled: CompiledPlaybook;
  readonly random: Random;
  /** Probability of a crash around each commit. */
  readonly crash: number;
  readonly surroundings: Surroundings;
  /** Called in the transaction of the events that the messages follow from. */
  post(messages: readonly Posted[]): void;
}

export function createCluster(options: ClusterOptions): Cluster {
  const { executionId, compiled, random, crash, surroundings, post } = options;
  const log: EventRow[] = [];
  const stored = new Set<Id>();
  const snapshots: string[] = [];
  const issued = new Map<string, EventRow>();
  const folded = initialState(executionId);
  const servers: { state: ExecutionState | undefined }[] = [{ state: undefined }, { state: undefined }];
  let stale = 0;
  const world = (): World => ({ now: surroundings.now(), values: {}, nextId: surroundings.nextId });

  function rebuild(): ExecutionState {
    const snapshot = snapshots.length > 0 && random.chance(0.5) ? random.pick(snapshots) : undefined;
    const state = snapshot === undefined ? initialState(executionId) : restore(snapshot);
    return catchUp(state);
  }

  function catchUp(state: ExecutionState): ExecutionState {
    for (const row of log.slice(state.version)) evolve(state, row);
    return state;
  }

  function commit({ rows, messages }: Decision, state: ExecutionState): void {
    if (rows.length === 0) {
      if (messages.length > 0) throw new Error('a message that follows from nothing');
      return;
    }
    for (const row of rows) {
      if (row.stream_version !== log.length + 1) throw new Error(`version ${row.stream_version} follows ${log.length}`);
      if (stored.has(row.event_id)) throw new Error(`event id ${row.event_id} is in the log twice`);
      stored.add(row.event_id);
      // What the database gives back is never the object that went in.
      const kept = written(row);
      log.push(kept);
      if (kept.event_type === 'command.issued' && kept.command_id !== null && moves(kept))
        issued.set(kept.command_id, kept);
      evolve(folded, kept);
    }
    post(messages);
    assertHeard(folded);
    assertSame(state, folded, 'the live state is not the fold of the log');
    if (random.chance(0.04)) snapshots.push(JSON.stringify(state));
  }

  function submit(fact: Fact): Answer | undefined {
    const given = fact.type === 'event' ? fact.row.event_id : fact.type === 'signal' ? fact.eventId : null;
    if (given !== null && stored.has(given)) {
      return { rows: [], events: [], messages: [], duplicate: true };
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
        stale++;
        continue; // the log has moved on at the other server: decide again on its head
      }
      commit(decision, state);
      if (random.chance(crash)) return undefined;
      server.state = state;
      return decision;
    }
  }

  return {
    submit,
    folded,
    log,
    issued,
    get stale() {
      return stale;
    },
  };
}

/** Whoever sends this is too late, or not asked. */
export function mustRefuse(cluster: Cluster, fact: Fact, reasons: readonly NonNullable<Answer['refused']>[]): void {
  const answer = cluster.submit(fact);
  if (answer === undefined || answer.duplicate === true) return;
  if (answer.refused === undefined || !reasons.includes(answer.refused)) {
    throw new Error(
      `${JSON.stringify(fact)} must be refused (${reasons.join(' or ')}), was ${answer.refused ?? 'accepted'}`,
    );
  }
}

/** Nobody waits for a signal that is there. */
function assertHeard({ signals, commands }: ExecutionState): void {
  if (Object.keys(signals).length === 0) return;
  for (const { commandId, park } of Object.values(commands)) {
    if (park?.kind === 'wait' && park.signal !== null && signals[park.signal] !== undefined)
      throw new Error(`${commandId} waits for '${park.signal}', which has come`);
  }
}

/** A state that was written down as a server writes it down, and is read as a server reads it. */
export function restore(snapshot: string): ExecutionState {
  const json = JSON.parse(snapshot) as { executionId: Id };
  const state = restoreState(json.executionId, json as unknown as Json);
  if (state === undefined) throw new Error('a snapshot cannot be read back');
  return state;
}

/** `fold(log) == state`, from the first event and from a snapshot at `cut`. */
export function assertReplays(log: readonly EventRow[], state: Readonly<ExecutionState>, cut: number): void {
  const whole = initialState(state.executionId);
  let snapshot = JSON.stringify(whole);
  for (const row of log) {
    evolve(whole, row);
    if (whole.version === cut) snapshot = JSON.stringify(whole);
  }
  assertSame(state, whole, 'a fold of the whole log differs');
  const resumed = restore(snapshot);
  for (const row of log.slice(resumed.version)) evolve(resumed, row);
  assertSame(state, resumed, `a fold from a snapshot at version ${cut} differs`);
}

function assertSame(left: unknown, right: unknown, message: string): void {
  if (same(left, right)) return;
  throw new Error(`${message}:\n  live ${canonicalJson(left)}\n  fold ${canonicalJson(right)}`);
}

/** What JSON makes of a value; several times as fast as writing and reading it. */
function written<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => written(item ?? null)) as T;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    if (key === '__proto__') return JSON.parse(JSON.stringify(value)) as T;
    copy[key] = written(item);
  }
  return copy as T;
}

/** Equal as JSON. Runs after every fact, so it compares in place instead of writing both states out. */
export function same(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(right, key)) return false;
    if (!same((left as Record<string, unknown>)[key], (right as Record<string, unknown>)[key])) return false;
  }
  return true;
}
