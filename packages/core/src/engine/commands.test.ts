// A command and its leases: claims, tokens, reports that come twice or late, lost workers, events of other people (dsl.md §3.4).
import { describe, expect, it } from 'vitest';
import { called, completed, failed, posted, started } from './simulation/reports.js';
import { given, type Story } from './simulation/story.js';

const tool = 'tool: { kind: noop }';
const one = (spec = '{}') =>
  given(`  - { step: a, ${tool}, spec: ${spec}, next: b }\n  - { step: b, ${tool} }`).start();
const told = (story: Story, workerId: string | null = 'w1') => ({
  commandId: story.command('a').commandId,
  step: 'a',
  workerId,
});

describe('a claim', () => {
  it('gives the command to one worker, with a token', () => {
    expect(one().claim('a', 'w1')).toMatchObject({ status: 'CLAIMED', workerId: 'w1', token: 1 });
  });

  it('is refused while another worker holds the command, and says who', () => {
    const story = one();
    const { commandId } = story.claim('a', 'w1');
    const { refused, command } = story.when({ type: 'claim', commandId, workerId: 'w2' });
    expect({ refused, holder: command?.workerId }).toEqual({ refused: 'already_claimed', holder: 'w1' });
  });

  it('is refused for a command that is closed', () => {
    const story = one();
    const { commandId } = story.command('a');
    story.does('a');
    expect(story.when({ type: 'claim', commandId, workerId: 'w1' }).refused).toBe('not_open');
  });

  it('may come as an event, from a worker of the reference', () => {
    const story = one();
    const { commandId } = story.command('a');
    story.when({ type: 'event', row: { ...posted('command.claimed', 'a', commandId), worker_id: 'w7' } });
    expect(story.command('a')).toMatchObject({ status: 'CLAIMED', workerId: 'w7', token: 1 });
  });
});

describe('a report', () => {
  it('is refused with the token of an older claim', () => {
    const story = one();
    const first = story.claim('a', 'w1');
    const { commandId } = first;
    story.when({ type: 'lease_expired', commandId, token: 1 });
    story.claim('a', 'w2');
    expect(story.when({ type: 'event', row: completed(told(story)), token: 1 }).refused).toBe('stale_claim');
  });

  it('is refused when the lease was lost, even before somebody else claims the command', () => {
    const story = one();
    const { commandId } = story.claim('a', 'w1');
    story.when({ type: 'lease_expired', commandId, token: 1 });
    expect(story.when({ type: 'event', row: completed(told(story)), token: 1 }).refused).toBe('stale_claim');
  });

  it('without a token is judged by the name of the worker', () => {
    const story = one();
    story.claim('a', 'w1');
    expect(story.when({ type: 'event', row: completed(told(story, 'w2')) }).refused).toBe('stale_claim');
    expect(story.when({ type: 'event', row: completed(told(story, 'w1')) }).refused).toBeUndefined();
  });

  it('without a token is refused from a worker that lost its lease', () => {
    const story = one();
    const { commandId } = story.claim('a', 'w1');
    story.when({ type: 'lease_expired', commandId, token: 1 });
    expect(story.when({ type: 'event', row: completed(told(story, 'w1')) }).refused).toBe('stale_claim');
  });

  it.each([
    ['completed', completed],
    ['failed', failed],
  ] as const)('that comes twice changes nothing (%s)', (_, second) => {
    const story = one();
    const { token } = story.claim('a');
    const teller = told(story);
    story.when({ type: 'event', row: called(teller, { n: 1 }), token });
    story.when({ type: 'event', row: completed(teller), token });
    const before = JSON.stringify(story.state);
    expect(story.when({ type: 'event', row: second(teller), token }).refused).toBe('not_open');
    expect(JSON.stringify(story.state)).toBe(before);
  });

  it('keeps the data of the call', () => {
    expect(one().does('a', { rows: [1] }).state.steps.a).toMatchObject({
      hasData: true,
      data: { rows: [1] },
      phase: 'done',
    });
  });

  it('that the worker cancelled its command fails the step instead of leaving the run without work', () => {
    const story = one();
    const { token } = story.claim('a');
    const row = { ...completed(told(story)), event_type: 'command.cancelled', meta: { reason: 'worker stopped' } };
    story.when({ type: 'event', row, token });
    expect(story.state).toMatchObject({ status: 'FAILED', failedSteps: ['a'] });
  });
});

describe('a lost worker', () => {
  it('puts the command back with the next attempt', () => {
    const story = one();
    const { commandId } = story.claim('a');
    story.when({ type: 'lease_expired', commandId, token: 1 });
    expect(story.ledTo()).toEqual(['command.requeued a']);
    expect(story.command('a')).toMatchObject({ status: 'PENDING', attempt: 2, workerId: null });
  });

  it('is noticed once: the same expiry again is refused', () => {
    const story = one();
    const { commandId } = story.claim('a');
    story.when({ type: 'lease_expired', commandId, token: 1 });
    expect(story.when({ type: 'lease_expired', commandId, token: 1 }).refused).toBe('stale_claim');
  });

  it('does not expire the lease of the worker after it', () => {
    const story = one();
    const { commandId } = story.claim('a', 'w1');
    story.when({ type: 'lease_expired', commandId, token: 1 });
    story.claim('a', 'w2');
    expect(story.when({ type: 'lease_expired', commandId, token: 1 }).refused).toBe('stale_claim');
  });

  it('fails the command when its attempts are used up', () => {
    const story = one('{ max_attempts: 2 }');
    for (const token of [1, 2]) {
      const { commandId } = story.claim('a');
      story.when({ type: 'lease_expired', commandId, token });
    }
    expect(story.ledTo()).toEqual(['command.failed a', 'next.evaluated a', 'playbook.failed playbook']);
    expect(story.state.error).toContain('gave up after 2 attempts');
  });

  it('fails the command at once when it is not idempotent', () => {
    const story = one('{ idempotent: false }');
    const { commandId } = story.claim('a');
    story.when({ type: 'lease_expired', commandId, token: 1 });
    expect(story.state.steps.a?.info).toMatchObject({ code: 'WORKER_LOST' });
  });

  it('takes what it had reported of the call with it', () => {
    const story = one();
    const { commandId, token } = story.claim('a', 'w1');
    story.when({ type: 'event', row: called(told(story), { half: true }), token });
    story.when({ type: 'lease_expired', commandId, token });
    story.claim('a', 'w2');
    story.when({ type: 'event', row: completed(told(story, 'w2')), token: 2 });
    expect(story.state.steps.a?.data).toBeNull();
  });
});

describe('a release', () => {
  const release = (story: Story, countAttempt: boolean) => {
    const { commandId, token } = story.claim('a');
    return story.when({ type: 'release', commandId, token, reason: 'drain', delayMs: 250, countAttempt });
  };

  it.each([
    [true, 2],
    [false, 1],
  ])('counts the attempt when it was used (%s)', (counted, attempt) => {
    const story = one();
    release(story, counted);
    expect(story.command('a')).toMatchObject({ status: 'PENDING', attempt });
  });

  it('carries the delay until the next claim', () => {
    const story = one();
    release(story, false);
    expect(story.last('command.requeued').meta).toMatchObject({ delay_ms: 250, reason: 'drain' });
  });

  it('may be done for a command that is not idempotent: the worker says that it did not run', () => {
    const story = one('{ idempotent: false }');
    release(story, false);
    expect(story.command('a').status).toBe('PENDING');
  });
});

describe('an event of somebody else', () => {
  const names = [
    'playbook.completed',
    'playbook_failed',
    'execution.cancelled',
    'step.enter',
    'step.skipped',
    'step.failed',
    'command.issued',
    'command.requeued',
    'next.evaluated',
    'ctx.updated',
    'playbook_started',
    'order.shipped',
  ];

  it.each(names)('is stored and moves nothing: %s', (type) => {
    const story = one();
    const before = JSON.stringify({ ...story.state, version: 0, lastEventId: null });
    const { commandId } = story.command('a');
    const { rows } = story.when({ type: 'event', row: posted(type, 'a', commandId) });
    expect(rows.map((row) => row.event_type)).toEqual([type]);
    expect(JSON.stringify({ ...story.state, version: 0, lastEventId: null })).toBe(before);
  });

  it('about a command that does not exist is refused', () => {
    const row = started({ commandId: 'nobody:knows:1', step: 'a', workerId: 'w1' });
    expect(one().when({ type: 'event', row }).refused).toBe('not_open');
  });

  it('is refused before the execution has started', () => {
    const story = given(`  - { step: a, ${tool} }`);
    expect(story.when({ type: 'event', row: posted('order.shipped', 'a', null) }).refused).toBe('not_started');
  });
});
