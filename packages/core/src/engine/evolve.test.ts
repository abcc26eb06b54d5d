// The fold: rows in order, and nothing but rows.
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../json/index.js';
import { evolve } from './evolve.js';
import { isErrorStatus } from './evolve-step.js';
import { EXECUTION, restore } from './simulation/cluster.js';
import { given } from './simulation/story.js';
import { initialState } from './state.js';

const tool = 'tool: { kind: noop }';
const story = given(`
  - { step: a, ${tool}, set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }, next: { arcs: [{ step: a, when: "{{ ctx.n < 3 }}" }, { step: b }] } }
  - { step: b, ${tool}, next: [{ step: sorry, when: "{{ error.message is defined }}" }] }
  - { step: sorry, ${tool} }`)
  .start()
  .does('a', { n: 1 })
  .does('a', { n: 2 })
  .does('a', { n: 3 })
  .fails('b')
  .does('sorry');

function fold(upTo = story.log.length) {
  const state = initialState(EXECUTION);
  for (const row of story.log.slice(0, upTo)) evolve(state, row);
  return state;
}

it('gives the live state', () => {
  expect(canonicalJson(fold())).toBe(canonicalJson(story.state));
});

it.each(story.log.map((row) => row.stream_version))(
  'from a snapshot at version %i gives the same as from the first event',
  (version) => {
    const state = restore(JSON.stringify(fold(version)));
    for (const row of story.log.slice(version)) evolve(state, row);
    expect(canonicalJson(state)).toBe(canonicalJson(story.state));
  },
);

it('leaves the rows as they are', () => {
  const before = JSON.stringify(story.log);
  fold();
  expect(JSON.stringify(story.log)).toBe(before);
});

describe('refuses a row', () => {
  const state = fold(3);

  it.each([1, 3, 5])('that is not the next one (version %i after 3)', (version) => {
    const row = story.log[version - 1];
    if (row === undefined) throw new Error('the story is too short');
    expect(() => evolve(state, row)).toThrow(`has version ${version}`);
  });
});

it('keeps no closed command', () => {
  expect(story.state.commands).toEqual({});
});

it('keeps the value of a step until the next visit overwrites it', () => {
  const second = story.log.filter((row) => row.event_type === 'step.enter' && row.node_name === 'a')[1];
  expect(fold(second?.stream_version).steps.a).toMatchObject({ run: 2, phase: 'active', data: { n: 1 } });
});

it('takes a variable called __proto__ as data', () => {
  const odd = given(`  - { step: a, ${tool}, set: { "ctx.__proto__.polluted": true } }`).start().does('a');
  expect(Object.keys(odd.state.ctx)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

it.each(['error', 'failed', 'TIMEOUT', 'Failure'])('%s is an error', (status) => {
  expect(isErrorStatus(status)).toBe(true);
});

it.each(['success', 'ok', 'COMPLETED', ''])('%j is not an error', (status) => {
  expect(isErrorStatus(status)).toBe(false);
});
