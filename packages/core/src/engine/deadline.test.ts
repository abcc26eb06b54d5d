// `timeout` of a step that a worker runs: the control plane ends it, whether the worker notices or not.
import { describe, expect, it } from 'vitest';
import { completed } from './simulation/reports.js';
import { given } from './simulation/story.js';

const limited = (more = '') => `
  - step: start
    tool: { kind: noop }
    spec: { timeout: 30${more} }`;

describe('a step with a timeout', () => {
  it('says how long its worker may take', () => {
    const story = given(limited()).start();
    expect(story.last('command.issued').meta).toMatchObject({ timeout_ms: 30_000 });
  });

  it('fails when its worker holds it longer', () => {
    const story = given(limited()).start();
    story.claim('start');
    story.advance(30).due('start');
    expect(story.state.status).toBe('FAILED');
    expect(story.state.steps.start?.info).toMatchObject({ kind: 'timeout', code: 'TIMEOUT', retryable: true });
  });

  it('is not touched while it waits for a worker', () => {
    const story = given(limited()).start();
    const { commandId, token } = story.command('start');
    expect(story.when({ type: 'due', commandId, token }).refused).toBe('stale_claim');
  });

  it('is not ended by the deadline of a worker that has lost it', () => {
    const story = given(limited()).start();
    const { commandId, token } = story.claim('start', 'w1');
    story.when({ type: 'lease_expired', commandId, token });
    story.claim('start', 'w2');
    expect(story.when({ type: 'due', commandId, token }).refused).toBe('stale_claim');
    expect(story.open()).toEqual(['start']);
  });

  it('refuses what its worker reports afterwards', () => {
    const story = given(limited(', on_error: retry')).start();
    const { commandId, token } = story.claim('start');
    story.due('start');
    const row = completed({ commandId, step: 'start', workerId: 'w1' });
    expect(story.when({ type: 'event', row, token }).refused).toBe('not_open');
  });

  it('is tried again when it retries', () => {
    const story = given(limited(', on_error: retry')).start();
    story.claim('start');
    story.due('start');
    expect(story.command('start')).toMatchObject({ attempt: 2, status: 'PENDING' });
  });

  it('is not tried again when it must not be done twice: its worker may still be at it', () => {
    const story = given(limited(', on_error: retry, idempotent: false')).start();
    story.claim('start');
    story.due('start');
    expect(story.state.status).toBe('FAILED');
  });

  it('fails one item of a loop, and the loop says what that means', () => {
    const story = given(`
  - step: start
    loop: { in: [a, b], iterator: item, spec: { policy: { on_error: continue } } }
    tool: { kind: noop }
    spec: { timeout: 30 }`).start();
    story.claim('start');
    story.due('start').does('start', 'B');
    expect(story.state.status).toBe('COMPLETED');
    expect(story.state.steps.start?.data).toMatchObject({ results: [null, 'B'], stats: { failed: 1 } });
  });
});

it('a deadline of a command that has ended, or of an execution that has, moves nothing', () => {
  const story = given(`${limited()}
    next: { arcs: [{ step: after }] }
  - step: after
    tool: { kind: noop }`).start();
  const { commandId, token } = story.claim('start');
  const row = completed({ commandId, step: 'start', workerId: 'w1' });
  story.when({ type: 'event', row, token });
  expect(story.when({ type: 'due', commandId, token }).refused).toBe('not_open');
  story.does('after');
  expect(story.when({ type: 'due', commandId, token }).refused).toBe('already_terminal');
});

describe('a command that is given back', () => {
  it('carries when it may be taken again, and where it goes on', () => {
    const story = given(limited()).start();
    const { commandId, token } = story.claim('start');
    const resume = { task: 'second', attempt: 2 };
    story.when({ type: 'release', commandId, token, reason: 'retry', delayMs: 5_000, countAttempt: false, resume });
    expect(story.command('start')).toMatchObject({ status: 'PENDING', attempt: 1, workerId: null });
    expect(story.last('command.requeued')).toMatchObject({ meta: { delay_ms: 5_000 }, context: { resume } });
  });

  it('is failed when its attempts are used up', () => {
    const story = given(limited(', max_attempts: 1')).start();
    const { commandId, token } = story.claim('start');
    story.when({ type: 'release', commandId, token, reason: 'out of memory', delayMs: 0, countAttempt: true });
    expect(story.state.status).toBe('FAILED');
    expect(story.state.error).toContain('out of memory');
  });

  it('is not taken from the worker that has it now by the one that had it before', () => {
    const story = given(limited()).start();
    const first = story.claim('start', 'w1');
    const { commandId, token } = first;
    story.when({ type: 'lease_expired', commandId, token });
    story.claim('start', 'w2');
    const release = { reason: 'drain', delayMs: 0, countAttempt: false };
    expect(story.when({ type: 'release', commandId, token, ...release }).refused).toBe('stale_claim');
    expect(story.command('start').workerId).toBe('w2');
  });
});
