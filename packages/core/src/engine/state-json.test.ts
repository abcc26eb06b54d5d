// A state that went through JSON is the state that a fold of its log gives.
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { EXECUTION } from './simulation/cluster.js';
import { given } from './simulation/story.js';
import { restoreState } from './state-json.js';

/** What a database that sorts keys gives back. */
function stored(state: object): Json {
  return JSON.parse(canonicalJson(state as Json)) as Json;
}

const story = () =>
  given(`
  - step: start
    tool: { kind: noop }
    set: { ctx.constructor: 1 }
    next: { spec: { mode: inclusive }, arcs: [{ step: z }, { step: each }, { step: a }] }
  - { step: z, tool: { kind: wait, signal: go } }
  - { step: each, loop: { in: 5, iterator: n, spec: { mode: parallel, max_in_flight: 2 } }, tool: { kind: noop } }
  - { step: a, tool: { kind: wait, signal: go } }
`)
    .start()
    .does('start')
    .does('each');

describe('a state that is read back', () => {
  it('is the same state', () => {
    const { state } = story();
    expect(canonicalJson(restoreState(EXECUTION, stored(state)) as unknown as Json)).toBe(
      canonicalJson(state as unknown as Json),
    );
  });

  it('keeps the order in which commands were issued: the oldest that waits is served first', () => {
    const { state } = story();
    const restored = restoreState(EXECUTION, stored(state));
    expect(Object.keys(restored?.commands ?? {})).toEqual(Object.keys(state.commands));
  });

  it('has no prototype where authors choose names', () => {
    const restored = restoreState(EXECUTION, stored(story().state));
    expect([restored?.ctx, restored?.steps, restored?.commands].map((part) => Object.getPrototypeOf(part))).toEqual([
      null,
      null,
      null,
    ]);
  });

  it.each([
    ['of another execution', (json: JsonObject) => ({ ...json, executionId: '1' })],
    ['without a part', ({ commands: _, ...json }: JsonObject) => json],
    ['that is no object', () => 7],
  ])('is refused when it is one %s', (_, damage) => {
    expect(restoreState(EXECUTION, damage(stored(story().state) as JsonObject) as Json)).toBeUndefined();
  });
});
