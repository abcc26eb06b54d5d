// Commands whose tool suspends itself: they hold no slot, and go on in whichever worker leases them next.
import type { HeartbeatRequest } from '@noetl/client';
import type { Json } from '@noetl/core';
import { afterEach, describe, expect, it } from 'vitest';
import { type ControlPlane, controlPlane, count, eventsOf, Refusal } from './control-plane.fixture.js';
import { manualTool } from './manual-tool.fixture.js';
import { type AnyTool, CommandAborted, type Suspension, type ToolAnswer } from './tools/tool.js';
import { start, stopAll } from './worker.fixture.js';

afterEach(stopAll);

const LATER: Omit<Suspension, 'state'> = { status: 'suspended', delayMs: 60_000, reason: 'waits' };

/** Suspends itself with `state` the first time, answers with the state it gets back the next time. */
function patient(state: Json, delayMs = LATER.delayMs) {
  const resumed: (Json | undefined)[] = [];
  const tool: AnyTool = {
    kind: 'patient',
    async run({ resume }): Promise<ToolAnswer> {
      resumed.push(resume);
      return resume === undefined ? { ...LATER, delayMs, state } : { status: 'success', data: resume };
    },
  };
  return { tool, resumed };
}

const add = (plane: ControlPlane, id: string): void => plane.add(id, { tool_kind: 'patient' });

/** Larger than what a release carries. */
const HUGE = 'x'.repeat(4 * 1024 * 1024);

describe('a command whose tool suspends itself', () => {
  it('is given back with its delay and its state, and without using up an attempt', async () => {
    const plane = controlPlane();
    start(plane, { tools: [patient({ at: 3 }, 1_500.2).tool] });
    add(plane, 'a');
    await plane.until(() => plane.released.length === 1);
    expect(plane.released).toEqual([
      { worker_id: 'w1', claim_token: 1, reason: 'waits', delay_ms: 1_501, resume: { at: 3 }, count_attempt: false },
    ]);
    expect(plane.recorded).toEqual([]);
  });

  it('leaves its slot to others', async () => {
    const plane = controlPlane();
    const other = manualTool();
    const worker = start(plane, { concurrency: 1, tools: [patient(1).tool, other] });
    add(plane, 'a');
    plane.add('b');
    await other.start('b');
    expect(plane.released).toHaveLength(1);
    expect(worker.inFlight).toBe(1);
  });

  it('goes on with its state when its delay is over', async () => {
    const plane = controlPlane();
    start(plane, { tools: [patient({ at: 3 }).tool] });
    add(plane, 'a');
    await plane.until(() => plane.released.length === 1);
    plane.pass('a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
    expect(plane.recorded[1]?.context['result']).toMatchObject({ context: { data: { at: 3 } } });
  });

  it('goes on in another worker when its own has left', async () => {
    const plane = controlPlane();
    const worker = start(plane, { tools: [patient(1).tool] });
    add(plane, 'a');
    await plane.until(() => plane.released.length === 1);
    await worker.stop();
    const { tool, resumed } = patient(1);
    start(plane, { workerId: 'w2', tools: [tool] });
    plane.pass('a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(resumed).toEqual([1]);
  });

  it('keeps its slot and its lease until the server has taken it back', async () => {
    const plane = controlPlane();
    const worker = start(plane, { tools: [patient(1).tool] });
    let away = true;
    plane.interfere = (name) => {
      if (name === 'release' && away) throw new Refusal(503);
    };
    add(plane, 'a');
    await plane.until(() => count(plane, 'release') > 0);
    const asked = plane.calls.length;
    const beats = (): HeartbeatRequest[] =>
      plane.calls
        .slice(asked)
        .filter(({ name }) => name === 'heartbeat')
        .map(({ request }) => request as HeartbeatRequest);
    await plane.until(() => beats().length > 0);
    expect(beats()[0]?.leases).toEqual([{ command_id: 'a', claim_token: 1 }]);
    away = false;
    await plane.until(() => worker.inFlight === 0);
    expect(plane.released).toHaveLength(1);
  });

  it('is forgotten when it is not ours any more', async () => {
    const plane = controlPlane();
    const worker = start(plane, { concurrency: 1, tools: [patient(1).tool] });
    plane.interfere = (name) => {
      if (name === 'release') throw new Refusal(409);
    };
    add(plane, 'a');
    await plane.until(() => count(plane, 'release') === 1 && worker.inFlight === 0);
    expect(plane.recorded).toEqual([]);
  });

  it('is given back also while the worker drains', async () => {
    const plane = controlPlane();
    let suspend: (answer: ToolAnswer) => void = () => undefined;
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const tool: AnyTool = {
      kind: 'patient',
      run: () =>
        new Promise((resolve) => {
          suspend = resolve;
          begun();
        }),
    };
    const worker = start(plane, { tools: [tool] });
    add(plane, 'a');
    await running;
    const drained = worker.drain();
    suspend({ ...LATER, state: 1 });
    await drained;
    expect(plane.released).toMatchObject([{ reason: 'waits', resume: 1, delay_ms: 60_000 }]);
  });

  it('says that it has started at most once for each lease', async () => {
    const plane = controlPlane();
    let turn = 0;
    const answers: ((answer: ToolAnswer) => void)[] = [];
    const tool: AnyTool = { kind: 'patient', run: () => new Promise((resolve) => answers.push(resolve)) };
    start(plane, { tools: [tool], announceAfterMs: 1 });
    add(plane, 'a');
    await plane.until(() => eventsOf(plane, 'a').length === 1);
    answers[turn++]?.({ ...LATER, state: 1 });
    await plane.until(() => plane.released.length === 1);
    plane.pass('a');
    await plane.until(() => eventsOf(plane, 'a').length === 2);
    answers[turn++]?.({ status: 'success' });
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'command.started', 'call.done', 'command.completed']);
  });
});

describe('a suspended command that the server cannot keep', () => {
  it.each<[string, Json, number | undefined]>([
    ['because its state is too large', HUGE, undefined],
    ['because it refuses the request', 1, 413],
  ])('%s waits in its slot and goes on there', async (_why, state, status) => {
    const plane = controlPlane();
    plane.interfere = (name) => {
      if (name === 'release' && status !== undefined) throw new Refusal(status);
    };
    const { tool, resumed } = patient(state, 1);
    start(plane, { tools: [tool] });
    add(plane, 'a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(plane.released).toEqual([]);
    expect(resumed).toEqual([undefined, state]);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
  });

  it('stops waiting when it is cancelled', async () => {
    const plane = controlPlane();
    const { tool, resumed } = patient(HUGE);
    start(plane, { tools: [tool] });
    add(plane, 'a');
    await plane.until(() => resumed.length === 1);
    plane.cancelled.add('a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(plane.terminal('a')).toBe('command.cancelled');
  });
});

describe('a command that goes on from a saved state', () => {
  it('keeps that state when its worker has to give it back', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { tools: [tool], drainTimeoutMs: 1 });
    plane.add('a', { resume: { at: 3 } });
    const call = await tool.start('a');
    expect(call.resume).toEqual({ at: 3 });
    await worker.drain();
    expect(call.signal.reason).toEqual(new CommandAborted('released'));
    expect(plane.released).toMatchObject([{ reason: 'worker is draining', resume: { at: 3 } }]);
  });

  it('keeps that state when there is no room for it', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const { lease } = plane.api;
    const generous = {
      ...plane.api,
      lease: ((request, options) => lease({ ...request, max: 99 }, options)) as typeof lease,
    };
    plane.add('a');
    plane.add('b', { resume: 7 });
    start(plane, { api: generous, concurrency: 1, tools: [tool] });
    await plane.until(() => plane.released.length === 1);
    expect(plane.released).toMatchObject([{ reason: 'no free slot', resume: 7 }]);
  });
});
