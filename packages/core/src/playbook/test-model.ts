// A playbook's own tests, as read from its `tests` block (docs/testing.md): what is mocked, what happens from outside, what must come of it.
import type { Json, JsonObject } from '../json/types.js';
import type { Condition, Position } from './model.js';
import type { Place } from './node.js';

export interface PlaybookTest extends Place {
  readonly name: string;
  readonly payload: JsonObject;
  /** What templates read as `env`. */
  readonly env: JsonObject;
  /** When the execution starts; from there time passes only as the test says. */
  readonly now: string;
  readonly mocks: readonly Mock[];
  /** Files of other playbooks, relative to this one, that steps with `run: true` may start. */
  readonly playbooks: readonly Named[];
  readonly signals: readonly TestSignal[];
  readonly cancelAfterMs?: number;
  readonly expect: Expectation;
}

/** A name as it is written in the test, and where. */
export interface Named extends Place {
  readonly name: string;
}

/** Stands in for a step, for a task of its list (`step.task`), or for the claims of its cursor (`step.claim`). */
export interface Mock extends Named {
  /** Those with `when` answer whenever it holds; the others one after the other, and the last one stays. */
  readonly answers: readonly MockAnswer[];
}

export type MockAnswer = MockedResult | MockedError | MockedRun;

export interface MockedResult {
  readonly type: 'result';
  readonly when?: Condition;
  /** May hold templates over `input`, `config`, `call` and `attempt`. */
  readonly result: Json;
  readonly takesMs: number;
}

export interface MockedError {
  readonly type: 'error';
  readonly when?: Condition;
  readonly error: JsonObject & { readonly message: string };
  /** What the tool brought back although it failed. */
  readonly result?: Json;
  readonly takesMs: number;
}

/** The playbook that the step names is really run, from its own file, with these mocks for its steps. */
export interface MockedRun {
  readonly type: 'run';
  readonly when?: Condition;
  readonly mocks: readonly Mock[];
}

export interface TestSignal extends Named {
  readonly afterMs: number;
  readonly payload: Json;
}

export type ExpectedStatus = 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'RUNNING';

export interface Expectation {
  readonly at: Position;
  /** RUNNING: it still waits when nothing more happens. */
  readonly status: ExpectedStatus;
  /** Steps in the order they were entered; those of an inner list in any order. */
  readonly path?: readonly (Named | readonly Named[])[];
  readonly visited: readonly Named[];
  readonly notVisited: readonly Named[];
  readonly skipped: readonly Named[];
  readonly result?: Json;
  readonly steps: readonly (Named & { readonly value: Json })[];
  readonly ctx?: JsonObject;
  readonly calls: readonly (Named & { readonly count: number })[];
  readonly callsWith: readonly (Named & { readonly calls: readonly Json[] })[];
  /** A part of the message, or `/a regular expression/`. */
  readonly error?: string;
  readonly durationMs?: number;
}
