import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { log } from '../testing/sample-events.js';
import { emptyTree, isTerminal, reduceEvent, reduceStatus, type StepNode, type TreeState } from './state.js';

const fold = (events: ReturnType<typeof log>): TreeState => events.reduce(reduceEvent, emptyTree('1', 'samples/x'));
const step = (tree: TreeState, name: string): StepNode | undefined => tree.steps.find((node) => node.name === name);

describe('the step tree', () => {
  it('follows a step from entry to its end and knows how long it took', () => {
    const tree = fold(
      log(
        { type: 'playbook_started' },
        { type: 'step.enter', step: 'a', at: 100 },
        { type: 'command.issued', step: 'a', at: 110 },
        { type: 'command.claimed', step: 'a', at: 150 },
        { type: 'command.completed', step: 'a', at: 400 },
      ),
    );
    expect(tree.status).toBe('RUNNING');
    expect(step(tree, 'a')).toMatchObject({ state: 'done', startedAt: 100, endedAt: 400 });
  });

  it('shows a step as waiting until a worker takes it', () => {
    const events = log({ type: 'command.issued', step: 'a' }, { type: 'command.started', step: 'a' });
    expect(fold(events.slice(0, 1)).steps[0]?.state).toBe('waiting');
    expect(fold(events).steps[0]?.state).toBe('running');
  });

  it('keeps the order in which steps were first reached', () => {
    const tree = fold(
      log(
        { type: 'step.enter', step: 'z' },
        { type: 'step.enter', step: 'a' },
        { type: 'command.completed', step: 'a' },
        { type: 'step.enter', step: 'm' },
      ),
    );
    expect(tree.steps.map(({ name }) => name)).toEqual(['z', 'a', 'm']);
  });

  it('remembers the error of a failed step and the event that recorded it', () => {
    const events = log({ type: 'command.issued', step: 'a' }, { type: 'command.failed', step: 'a', error: 'HTTP 500' });
    expect(step(fold(events), 'a')).toMatchObject({
      state: 'failed',
      error: 'HTTP 500',
      errorEventId: events[1]?.event_id,
    });
  });

  it.each([
    ['the error column', { error: 'broken' }],
    ['a text in the payload', { result: { status: 'FAILED', context: { error: 'broken' } } }],
    ['an object in the payload', { result: { status: 'FAILED', context: { error: { message: 'broken' } } } }],
    ['the meta', { meta: { error: 'broken' } }],
  ])('finds the error in %s', (_where, fields) => {
    expect(fold(log({ type: 'command.failed', step: 'a', ...fields })).steps[0]?.error).toBe('broken');
  });

  it('shows a failure as handled once an error arc was taken', () => {
    const tree = fold(
      log(
        { type: 'command.failed', step: 'a', error: 'x' },
        { type: 'next.evaluated', step: 'a', result: { status: 'OK', context: { outcome: 'handled_failure' } } },
      ),
    );
    expect(step(tree, 'a')).toMatchObject({ state: 'handled', error: 'x' });
  });

  it('does not call a failure handled when no arc was taken', () => {
    const tree = fold(
      log(
        { type: 'command.failed', step: 'a', error: 'x' },
        { type: 'next.evaluated', step: 'a', result: { status: 'OK', context: { outcome: 'unhandled_failure' } } },
      ),
    );
    expect(step(tree, 'a')?.state).toBe('failed');
  });

  it('forgets the failure when the command is issued again', () => {
    const tree = fold(
      log(
        { type: 'command.issued', step: 'a' },
        { type: 'command.failed', step: 'a', error: 'x' },
        { type: 'command.issued', step: 'a', meta: { attempt: 2 } },
      ),
    );
    expect(step(tree, 'a')).toMatchObject({ state: 'retrying', attempt: 2 });
    expect(step(tree, 'a')?.error).toBeUndefined();
  });

  it('shows a step that failed before it had a command', () => {
    expect(fold(log({ type: 'step.failed', step: 'a', error: 'bad template' })).steps[0]).toMatchObject({
      state: 'failed',
    });
  });

  it('shows a result that is an error as a failure', () => {
    const tree = fold(
      log({ type: 'command.issued', step: 'a' }, { type: 'command.completed', step: 'a', status: 'error' }),
    );
    expect(step(tree, 'a')?.state).toBe('failed');
  });

  it('shows a command that lost its worker as retrying', () => {
    const tree = fold(
      log(
        { type: 'command.issued', step: 'a' },
        { type: 'command.started', step: 'a' },
        { type: 'command.requeued', step: 'a', meta: { attempt: 2 } },
      ),
    );
    expect(step(tree, 'a')).toMatchObject({ state: 'retrying', attempt: 2 });
  });

  it('counts the iterations of a loop and ends it with the loop, not with its first command', () => {
    const events = log(
      { type: 'step.enter', step: 'each', result: { status: 'ENTERED', context: { iterations_expected: 2 } } },
      { type: 'command.issued', step: 'each', meta: { iteration_index: 0, iteration_total: 2 } },
      { type: 'command.issued', step: 'each', meta: { iteration_index: 1, iteration_total: 2 } },
      { type: 'command.completed', step: 'each' },
      { type: 'command.failed', step: 'each', error: 'x' },
      { type: 'loop.done', step: 'each' },
    );
    expect(step(fold(events.slice(0, 4)), 'each')).toMatchObject({
      state: 'waiting',
      loop: { done: 1, failed: 0, total: 2 },
    });
    expect(step(fold(events), 'each')).toMatchObject({ state: 'done', loop: { done: 1, failed: 1, total: 2 } });
  });

  it('counts the visits of a step in a cycle', () => {
    const tree = fold(
      log(
        { type: 'step.enter', step: 'a' },
        { type: 'command.completed', step: 'a' },
        { type: 'step.enter', step: 'a' },
      ),
    );
    expect(step(tree, 'a')).toMatchObject({ visits: 2, state: 'waiting' });
  });

  it('marks what was still running as cancelled when the execution is cancelled', () => {
    const tree = fold(log({ type: 'step.enter', step: 'a' }, { type: 'playbook.cancelled' }));
    expect(tree.status).toBe('CANCELLED');
    expect(step(tree, 'a')?.state).toBe('cancelled');
  });

  it('ignores events it has seen, as a stream that reconnects sends them again', () => {
    const events = log({ type: 'step.enter', step: 'a' }, { type: 'command.completed', step: 'a' });
    expect([...events, ...events].reduce(reduceEvent, emptyTree('1', 'samples/x'))).toEqual(fold(events));
  });

  it('ends by a status message when the last event is missing', () => {
    const tree = reduceStatus(fold(log({ type: 'step.enter', step: 'a' })), 'COMPLETED');
    expect(tree.status).toBe('COMPLETED');
    expect(step(tree, 'a')?.state).toBe('done');
  });

  it('survives any sequence of events, and nothing stays open after the end', () => {
    const types = [
      ...['playbook_started', 'step.enter', 'command.issued', 'command.started', 'command.completed', 'command.failed'],
      ...[
        'step.skipped',
        'step.failed',
        'command.requeued',
        'loop.done',
        'next.evaluated',
        'ctx.updated',
        'something.new',
      ],
    ];
    const anyEvent = fc.record({ type: fc.constantFrom(...types), step: fc.constantFrom('a', 'b', 'c') });
    const anyEnd = fc.constantFrom('playbook.completed', 'playbook.failed', 'playbook.cancelled');
    fc.assert(
      fc.property(fc.array(anyEvent), anyEnd, (events, end) => {
        const tree = fold(log(...events, { type: end }));
        expect(isTerminal(tree.status)).toBe(true);
        expect(tree.steps.filter(({ state }) => ['waiting', 'running', 'retrying'].includes(state))).toEqual([]);
        expect(new Set(tree.steps.map(({ name }) => name)).size).toBe(tree.steps.length);
      }),
    );
  });
});
