// `kind: playbook`: a step that starts another execution and, when it is asked to, waits for its end.
import { describe, expect, it } from 'vitest';
import type { Id } from '../ids/index.js';
import { MAX_DEPTH } from './park.js';
import { CATALOG } from './simulation/cluster.js';
import { given, type Story } from './simulation/story.js';

const calls = (tool: string, more = '') => `
  - step: start
    tool: { kind: playbook, path: child, ${tool} }
    ${more}
    next:
      spec: { mode: exclusive }
      arcs:
        - { step: rescue, when: "{{ event.name == 'call.error' }}" }
        - { step: after }
  - step: after
    tool: { kind: noop }
  - step: rescue
    tool: { kind: noop }`;

const childOf = (story: Story, step = 'start') => {
  const { park } = story.command(step);
  if (park?.kind !== 'child') throw new Error(`'${step}' has no child`);
  return park;
};

describe('a step that waits for its child', () => {
  it('asks for the start of it, and holds no worker', () => {
    const story = given(calls('return_result: true')).start();
    const { commandId, status } = story.command('start');
    expect(status).toBe('WAITING');
    expect(story.messages).toEqual([{ type: 'start_child', target: childOf(story).executionId, commandId }]);
  });

  it('hands over its input', () => {
    const story = given(calls('wait: true, payload: { a: 1, b: 1 }', 'input: { b: "{{ workload.n }}" }')).start({
      n: 2,
    });
    expect(childOf(story).payload).toEqual({ a: 1, b: 2 });
  });

  it('goes on with what the child returns', () => {
    const story = given(calls('return_result: true'))
      .start()
      .childEnded('start', { data: { total: 3 } });
    expect(story.open()).toEqual(['after']);
    expect(story.state.steps.start?.data).toMatchObject({ status: 'completed', path: 'child', data: { total: 3 } });
  });

  it('is not moved by the start of its child', () => {
    const story = given(calls('return_result: true')).start().childStarted('start');
    expect(story.open()).toEqual(['start']);
  });

  it.each([
    ['FAILED', 'CHILD_FAILED'],
    ['CANCELLED', 'CHILD_CANCELLED'],
  ] as const)('fails when its child ends %s, and an error arc can handle it', (status, code) => {
    const story = given(calls('return_result: true')).start().childEnded('start', { status, error: 'no money' });
    expect(story.open()).toEqual(['rescue']);
    expect(story.state.steps.start).toMatchObject({
      info: { kind: 'child', code },
      error: expect.stringContaining('no money'),
    });
  });

  it('hears of the end of its child once', () => {
    const story = given(calls('return_result: true')).start();
    const { commandId } = story.command('start');
    const end = { childId: childOf(story).executionId, status: 'COMPLETED' as const, data: 1, error: null };
    story.when({ type: 'child_ended', commandId, end });
    expect(story.when({ type: 'child_ended', commandId, end }).refused).toBe('not_open');
  });

  it('starts another child when it retries', () => {
    const story = given(calls('return_result: true', 'spec: { on_error: retry }')).start();
    const first = childOf(story).executionId;
    story.childEnded('start', { status: 'FAILED' });
    expect(childOf(story).executionId).not.toBe(first);
    expect(story.messages.map(({ type }) => type)).toEqual(['start_child', 'start_child']);
  });

  it('cancels a child that does not end in time', () => {
    const story = given(calls('return_result: true, timeout: 60')).start();
    const { executionId } = childOf(story);
    story.advance(60).due('start');
    expect(story.messages.at(-1)).toMatchObject({ type: 'cancel', target: executionId });
    expect(story.state.steps.start?.info).toMatchObject({ kind: 'timeout', code: 'TIMEOUT' });
    expect(story.open()).toEqual(['rescue']);
  });

  it('takes its child with it when it is cancelled', () => {
    const story = given(calls('return_result: true')).start();
    const { executionId } = childOf(story);
    story.cancel('enough');
    expect(story.messages.at(-1)).toEqual({ type: 'cancel', target: executionId, reason: 'enough' });
  });
});

describe('a step that only starts its child', () => {
  it('is done when the child has started', () => {
    const story = given(calls('payload: {}')).start();
    expect(story.open()).toEqual(['start']);
    const { executionId } = childOf(story);
    story.childStarted('start');
    expect(story.open()).toEqual(['after']);
    expect(story.state.steps.start?.data).toMatchObject({ status: 'started', execution_id: executionId, async: true });
  });

  it('leaves the child alone when it is cancelled afterwards', () => {
    const story = given(calls('payload: {}')).start().childStarted('start').cancel();
    expect(story.messages.map(({ type }) => type)).toEqual(['start_child']);
  });

  it('fails when the child cannot start', () => {
    const story = given(calls('payload: {}'))
      .start()
      .childEnded('start', { status: 'FAILED', error: 'no such playbook' });
    expect(story.open()).toEqual(['rescue']);
  });
});

describe('a child of each item', () => {
  const each = `
  - step: start
    loop: { in: [a, b, c], iterator: item, spec: { mode: parallel, max_in_flight: 2, policy: { on_error: fail_fast } } }
    tool: { kind: playbook, path: child, return_result: true }
    input: { item: "{{ iter.item }}" }`;

  it('runs within the window of the loop', () => {
    const story = given(each).start();
    expect(story.open()).toHaveLength(2);
    story.childEnded('start', { data: 'A' });
    expect(story.open()).toHaveLength(2);
    story.childEnded('start', { data: 'B' }).childEnded('start', { data: 'C' });
    expect(story.state.steps.start?.data).toMatchObject({ results: [{ data: 'A' }, { data: 'B' }, { data: 'C' }] });
  });

  it('is cancelled when another fails and the loop fails fast', () => {
    const story = given(each).start();
    const [, second] = Object.values(story.state.commands);
    const other = second?.park?.kind === 'child' ? second.park.executionId : null;
    story.childEnded('start', { status: 'FAILED' });
    expect(story.messages.at(-1)).toMatchObject({ type: 'cancel', target: other });
    expect(story.state.status).toBe('FAILED');
  });
});

describe('an execution that was started by a step', () => {
  const parent = '900' as Id;
  const child = (caller: { commandId: string; returnStep: string | null } | null) => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next: { arcs: [{ step: last }] }
  - step: last
    tool: { kind: noop }`);
    const origin = { parentExecutionId: parent, parentEventId: '901' as Id, trace: null, depth: 1, caller };
    story.when({ type: 'start', path: 'child', catalogId: CATALOG, payload: {}, pool: 'shared', ...origin });
    return story;
  };
  const commandId = `${parent}:call:901`;

  it('tells the command that waits for it what its last step returned', () => {
    const story = child({ commandId, returnStep: null }).does('start', 1).does('last', 2);
    expect(story.messages).toEqual([
      { type: 'child_ended', target: parent, commandId, status: 'COMPLETED', data: 2, error: null },
    ]);
  });

  it('returns the data of the step it was asked for', () => {
    const story = child({ commandId, returnStep: 'start' }).does('start', 1).does('last', 2);
    expect(story.messages).toMatchObject([{ data: 1 }]);
  });

  it('tells how it failed', () => {
    const story = child({ commandId, returnStep: null }).fails('start', 'no money');
    expect(story.messages).toMatchObject([
      { status: 'FAILED', data: null, error: expect.stringContaining('no money') },
    ]);
  });

  it('tells that it was cancelled', () => {
    const story = child({ commandId, returnStep: null }).cancel('enough');
    expect(story.messages).toMatchObject([{ status: 'CANCELLED', error: 'enough' }]);
  });

  it('tells nobody when nobody waits', () => {
    expect(child(null).does('start').does('last').messages).toEqual([]);
  });
});

it('a playbook that starts itself without end is stopped at a depth', () => {
  const story = given(calls('return_result: true'));
  const origin = { parentExecutionId: null, parentEventId: null, trace: null, depth: MAX_DEPTH };
  story.when({ type: 'start', path: 'story', catalogId: CATALOG, payload: {}, pool: 'shared', ...origin });
  expect(story.messages).toEqual([]);
  expect(story.state.steps.start?.info).toMatchObject({ code: 'TOO_DEEP' });
});

it.each([
  ['nothing to start', '{ kind: playbook, path: "{{ workload.none }}" }', 'NO_PLAYBOOK'],
  ['no duration', '{ kind: playbook, path: child, return_result: true, timeout: soon }', 'INVALID_DURATION'],
])('a step that names %s fails', (_, tool, code) => {
  const story = given(`
  - step: start
    tool: ${tool}`).start({ none: '' });
  expect(story.state.status).toBe('FAILED');
  expect(story.state.steps.start?.info).toMatchObject({ code });
});
