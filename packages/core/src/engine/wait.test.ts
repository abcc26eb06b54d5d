// `kind: wait`: a step that waits for time or for a signal, and holds no worker while it does.
import { describe, expect, it } from 'vitest';
import type { Id } from '../ids/index.js';
import { detail, given, type Story } from './simulation/story.js';

const waits = (tool: string, more = '') => `
  - step: start
    tool: { kind: wait, ${tool} }
    ${more}
    next:
      spec: { mode: exclusive }
      arcs:
        - { step: late, when: "{{ event.name == 'call.error' }}" }
        - { step: after }
  - step: after
    tool: { kind: noop, message: "{{ start }}" }
  - step: late
    tool: { kind: noop, message: "{{ error.code }}" }`;

const shown = (story: Story) => story.state.steps.start?.data;

describe('a wait for time', () => {
  it('ends when its time has come, and no worker is asked', () => {
    const story = given(waits('for: 1h')).start();
    expect(story.command('start')).toMatchObject({ status: 'WAITING', park: { kind: 'wait', signal: null } });
    story.advance(3600).due('start');
    expect(story.open()).toEqual(['after']);
    expect(story.steps('command.claimed')).toEqual([]);
  });

  it('is not ended before its time, whoever says it is due', () => {
    const story = given(waits('for: 1h')).start();
    const { commandId } = story.command('start');
    story.advance(3000);
    expect(story.when({ type: 'due', commandId, token: 0 }).refused).toBe('not_due');
    expect(story.open()).toEqual(['start']);
  });

  it('waits until a time that a template computes', () => {
    const story = given(waits('until: "{{ workload.at }}"')).start({ at: '2030-01-31T08:00:00Z' });
    expect(story.command('start').park).toMatchObject({ dueAt: '2030-01-31T08:00:00.000Z', onDue: 'continue' });
  });

  it('is over at once when the time is past', () => {
    const story = given(waits('until: "2020-01-01"')).start();
    expect(story.open()).toEqual(['after']);
    expect(shown(story)).toEqual({ waited_until: '2020-01-01T00:00:00.000Z' });
  });

  it.each([
    ['nothing to wait for', 'on_timeout: fail'],
    ['no duration', 'for: soon'],
    ['no time', 'until: tomorrow'],
    ['no name', 'signal: "  "'],
    ['no way to go on', 'signal: go, on_timeout: retry'],
  ])('fails its step when it says %s, where an error arc can handle it', (_, tool) => {
    const story = given(waits(tool)).start();
    expect(story.open()).toEqual(['late']);
  });

  it('goes round with an arc that leads back, once for each visit', () => {
    const story = given(`
  - step: start
    tool: { kind: wait, for: 10 }
    set: { ctx.rounds: "{{ (ctx.rounds | default(0)) + 1 }}" }
    next: { arcs: [{ step: start, when: "{{ ctx.rounds < 3 }}" }] }`).start();
    for (let round = 0; round < 3; round++) story.advance(60).due('start');
    expect(story.state.status).toBe('COMPLETED');
    expect(story.state.ctx.rounds).toBe(3);
  });

  it('fails the playbook when it goes round without ever giving the turn back', () => {
    const story = given(`
  - step: start
    tool: { kind: wait, for: 0 }
    next: { arcs: [{ step: start }] }`).start();
    expect(story.state.status).toBe('FAILED');
  });
});

describe('a wait for a signal', () => {
  it('goes on with what the signal brings', () => {
    const story = given(waits('signal: approve')).start().signal('approve', { by: 'ann' });
    expect(story.open()).toEqual(['after']);
    expect(shown(story)).toMatchObject({ signal: 'approve', payload: { by: 'ann' } });
    expect(story.steps('signal.delivered')).toEqual(['approve']);
  });

  it('is not moved by a signal of another name', () => {
    const story = given(waits('signal: approve')).start().signal('reject');
    expect(story.open()).toEqual(['start']);
    expect(story.state.signals).toEqual({ reject: [null] });
  });

  it('finds a signal that came before anybody waited', () => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next: { arcs: [{ step: ask }] }
  - step: ask
    tool: { kind: wait, signal: approve }`)
      .start()
      .signal('approve', 'early')
      .does('start');
    expect(story.state.status).toBe('COMPLETED');
    expect(story.state.signals).toEqual({});
    expect(story.state.steps.ask?.data).toMatchObject({ payload: 'early' });
  });

  it('takes the oldest of several, and leaves the others for later waits', () => {
    const story = given(waits('signal: approve')).start();
    story.signal('approve', 1).signal('approve', 2).signal('approve', 3);
    expect(shown(story)).toMatchObject({ payload: 1 });
    expect(story.state.signals).toEqual({ approve: [2, 3] });
  });

  it('is ended by one signal each: who waits longest is first', () => {
    const story = given(`
  - step: start
    loop: { in: [a, b], iterator: item, spec: { mode: parallel } }
    tool: { kind: wait, signal: go }`).start();
    story.signal('go', 'first');
    expect(story.open()).toEqual(['start']);
    story.signal('go', 'second');
    expect(story.state.steps.start?.data).toMatchObject({ data: [{ payload: 'first' }, { payload: 'second' }] });
  });

  it('may have any name', () => {
    const story = given(waits('signal: __proto__')).start().signal('__proto__', 1);
    expect(shown(story)).toMatchObject({ payload: 1 });
  });

  it('has the event id that its sender gave it, so that twice can be known for once', () => {
    const story = given(waits('signal: approve'))
      .start()
      .signal('approve', null, '77' as Id);
    expect(story.last('signal.received').event_id).toBe('77');
  });

  it('fails when its signal does not come in time', () => {
    const story = given(waits('signal: approve, timeout: 10m')).start().advance(600).due('start');
    expect(story.open()).toEqual(['late']);
    expect(story.state.steps.start?.info).toMatchObject({ kind: 'timeout', code: 'SIGNAL_TIMEOUT' });
  });

  it('goes on without its signal when on_timeout says so', () => {
    const story = given(waits('signal: approve, timeout: 10m, on_timeout: continue')).start().advance(600).due('start');
    expect(story.open()).toEqual(['after']);
    expect(shown(story)).toMatchObject({ timed_out: true, payload: null });
  });

  it('keeps a signal that came after its time was up for a later wait', () => {
    const story = given(waits('signal: approve, timeout: 10m'))
      .start()
      .advance(600)
      .due('start')
      .signal('approve', 'late');
    expect(story.state.signals).toEqual({ approve: ['late'] });
    expect(story.steps('signal.delivered')).toEqual([]);
  });

  it('waits again when its step retries, and takes the signal that came meanwhile', () => {
    const story = given(waits('signal: approve, timeout: 10m', 'spec: { on_error: retry, max_attempts: 2 }')).start();
    story.advance(600).due('start');
    expect(story.command('start').attempt).toBe(2);
    story.signal('approve', 'at last');
    expect(shown(story)).toMatchObject({ payload: 'at last' });
  });
});

describe('a waiting command', () => {
  it('is nobody’s to claim, to report, to give back or to lose', () => {
    const story = given(waits('signal: approve')).start();
    const { commandId } = story.command('start');
    const release = { reason: 'mine', delayMs: 0, countAttempt: true };
    expect(story.when({ type: 'claim', commandId, workerId: 'w1' }).refused).toBe('not_open');
    expect(story.when({ type: 'release', commandId, token: 0, ...release }).refused).toBe('not_open');
    expect(story.when({ type: 'lease_expired', commandId, token: 0 }).refused).toBe('not_open');
    expect(story.command('start')).toMatchObject({ status: 'WAITING', attempt: 1 });
  });

  it('ends with its execution', () => {
    const story = given(waits('signal: approve')).start().cancel();
    expect(story.open()).toEqual([]);
    expect(story.when({ type: 'signal', name: 'approve', payload: null, eventId: null }).refused).toBe(
      'already_terminal',
    );
  });

  it('does not hold up the end of an execution that has failed', () => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next:
      spec: { mode: inclusive }
      arcs: [{ step: ask }, { step: work }]
  - step: ask
    tool: { kind: wait, signal: approve }
  - step: work
    tool: { kind: noop }`)
      .start()
      .does('start')
      .fails('work');
    expect(story.state.status).toBe('FAILED');
    expect(story.steps('command.cancelled')).toEqual(['ask']);
  });
});

it('signals that nobody waits for are kept up to a limit', () => {
  const story = given(waits('signal: approve')).start();
  for (let sent = 0; sent < 1000; sent++) story.when({ type: 'signal', name: 'noise', payload: sent, eventId: null });
  const more = (name: string) => story.when({ type: 'signal', name, payload: null, eventId: null }).refused;
  expect(more('noise')).toBe('too_many_signals');
  expect(more('approve')).toBeUndefined();
});

it('a signal is an event of the log: who sent what, and which command it ended', () => {
  const story = given(waits('signal: approve')).start();
  const { commandId } = story.command('start');
  story.signal('approve', { by: 'ann' });
  expect(story.ledTo().slice(0, 4)).toEqual([
    'signal.received approve',
    'signal.delivered approve',
    'call.done start',
    'command.completed start',
  ]);
  expect(story.last('signal.delivered').command_id).toBe(commandId);
  expect(detail(story.last('call.done'))).toMatchObject({ result: { context: { data: { payload: { by: 'ann' } } } } });
});
