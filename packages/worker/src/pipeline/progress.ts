// Where a list of tasks stands, and the form in which it waits in the log while no worker has it. What is written must be readable by any
// worker of the same version; names that look like secrets stay keys, so that readers of the log see them masked.
import { isObject, type Json, type JsonObject } from '@noetl/core';
import type { Task } from './task.js';
import { emptyMemory, type Memory, SCOPES } from './variables.js';

/** How often a label ran since it last succeeded, and how many different things it has done. */
export interface Tally {
  executions: number;
  rounds: number;
}

export interface Progress {
  /** The task that runs next, or the one that is `inside`. */
  index: number;
  /** Executions of all tasks so far. */
  executions: number;
  /** One for each task. */
  readonly tallies: Tally[];
  /** The tool of the task has suspended itself: the execution that has begun goes on. */
  inside: Inside | undefined;
}

export interface Inside {
  readonly startedAt: Date;
  readonly state: Json;
}

/** Everything that a list needs to go on in another worker. */
export interface Saved {
  readonly startedAt: Date;
  readonly progress: Progress;
  readonly memory: Memory;
}

const VERSION = 1;

export function freshProgress(tasks: readonly Task[]): Progress {
  return {
    index: 0,
    executions: 0,
    tallies: tasks.map(() => ({ executions: 0, rounds: 1 })),
    inside: undefined,
  };
}

export function savedState({ startedAt, progress, memory }: Saved): JsonObject {
  const { index, executions, tallies, inside } = progress;
  return {
    version: VERSION,
    started_at: startedAt.toISOString(),
    index,
    executions,
    tallies: tallies.map((tally) => ({ ...tally })),
    ...(inside === undefined ? {} : { inside: { started_at: inside.startedAt.toISOString(), state: inside.state } }),
    ...savedMemory(memory),
  };
}

/** Undefined for a state of another version, or of another list. */
export function readSavedState(state: Json, tasks: readonly Task[]): Saved | undefined {
  if (!isObject(state) || state['version'] !== VERSION) return undefined;
  const startedAt = readTime(state['started_at']);
  const progress = readProgress(state, tasks);
  const memory = readMemory(state);
  if (startedAt === undefined || progress === undefined || memory === undefined) return undefined;
  return { startedAt, progress, memory };
}

/** Postgres does not keep the order of keys, so where an order means something it is written down. */
function savedMemory({ labelled, named, written, updates, previous }: Memory): JsonObject {
  // Most names are those of tasks and most values are their data: nothing large is written twice.
  const own = [...named].filter(([name, value]) => !labelled.has(name) || labelled.get(name) !== value);
  const previousTask = [...labelled].find(([, data]) => data === previous)?.[0];
  return {
    results: Object.fromEntries(labelled),
    finished: [...labelled.keys()],
    named: Object.fromEntries(own),
    scopes: Object.fromEntries(SCOPES.map((scope) => [scope, Object.fromEntries(written[scope])])),
    updates: Object.fromEntries(updates),
    updated: [...updates.keys()],
    ...(previous === undefined ? {} : previousTask === undefined ? { previous } : { previous_task: previousTask }),
  };
}

function readMemory(state: JsonObject): Memory | undefined {
  const labelled = readOrdered(state['results'], state['finished']);
  const updates = readOrdered(state['updates'], state['updated']);
  const { named, scopes } = state;
  if (labelled === undefined || updates === undefined || !isObject(named) || !isObject(scopes)) return undefined;
  const memory = emptyMemory();
  for (const [label, data] of labelled) {
    memory.labelled.set(label, data);
    memory.named.set(label, data);
  }
  for (const [name, value] of Object.entries(named)) memory.named.set(name, value);
  for (const [key, value] of updates) memory.updates.set(key, value);
  for (const scope of SCOPES) {
    const values = scopes[scope];
    if (!isObject(values)) return undefined;
    for (const [key, value] of Object.entries(values)) memory.written[scope].set(key, value);
  }
  const task = state['previous_task'];
  memory.previous = typeof task === 'string' ? labelled.get(task) : state['previous'];
  return memory;
}

function readProgress(state: JsonObject, tasks: readonly Task[]): Progress | undefined {
  const { index, executions, tallies } = state;
  if (!isCount(index) || index >= tasks.length || !isCount(executions)) return undefined;
  if (!Array.isArray(tallies) || tallies.length !== tasks.length) return undefined;
  const read = tallies.flatMap((tally) =>
    isObject(tally) && isCount(tally['executions']) && isCount(tally['rounds'])
      ? [{ executions: tally['executions'], rounds: tally['rounds'] }]
      : [],
  );
  const inside = state['inside'] === undefined ? undefined : readInside(state['inside']);
  if (read.length !== tasks.length || inside === null) return undefined;
  return { index, executions, tallies: read, inside };
}

function readInside(value: Json): Inside | null {
  if (!isObject(value) || value['state'] === undefined) return null;
  const startedAt = readTime(value['started_at']);
  return startedAt === undefined ? null : { startedAt, state: value['state'] };
}

/** The entries of `values` in the order of `keys`; undefined unless they name exactly the same. */
function readOrdered(values: Json | undefined, keys: Json | undefined): Map<string, Json> | undefined {
  if (!isObject(values) || !Array.isArray(keys) || keys.length !== Object.keys(values).length) return undefined;
  const entries = new Map<string, Json>();
  for (const key of keys) {
    const value = typeof key === 'string' && Object.hasOwn(values, key) ? values[key] : undefined;
    if (typeof key !== 'string' || value === undefined) return undefined;
    entries.set(key, value);
  }
  return entries;
}

function readTime(value: Json | undefined): Date | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
