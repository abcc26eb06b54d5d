import type { HeartbeatRequest } from '@noetl/client';
import { afterEach, describe, expect, it } from 'vitest';
import { controlPlane, count, Refusal, reportsOf } from './control-plane.fixture.js';
import { manualTool } from './manual-tool.fixture.js';
import { start, stopAll } from './worker.fixture.js';

afterEach(stopAll);

describe('a worker that drains', () => {
  it('lets running commands end, takes no new one, and leaves', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { concurrency: 2, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    const drained = worker.drain();
    plane.add('b');
    tool.end('a');
    await drained;
    await worker.closed;
    expect(plane.terminal('a')).toBe('command.completed');
    expect(tool.started).toEqual(['a']);
    expect(reportsOf(plane)[0]?.lease).toBeUndefined();
    expect(plane.registered.size).toBe(0);
    expect(worker.phase).toBe('closed');
  });

  it('says so in its heartbeat', async () => {
    const plane = controlPlane();
    const worker = start(plane, { heartbeatMs: 60_000, tools: [manualTool()] });
    await plane.until(() => count(plane, 'lease') > 0);
    await worker.drain();
    const beats = plane.calls
      .filter(({ name }) => name === 'heartbeat')
      .map(({ request }) => request as HeartbeatRequest);
    expect(beats.at(-1)?.status).toBe('draining');
  });

  it('gives back what does not end in time, without using up an attempt', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { drainTimeoutMs: 20, tools: [tool] });
    plane.add('a');
    const call = await tool.start('a');
    await worker.drain();
    expect(call.signal.aborted).toBe(true);
    expect(plane.released).toEqual([
      { worker_id: 'w1', claim_token: 1, reason: 'worker is draining', count_attempt: false },
    ]);
    expect(plane.recorded).toEqual([]);
  });

  it('hands over to another worker', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { drainTimeoutMs: 1, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    const other = manualTool();
    await worker.drain();
    start(plane, { workerId: 'w2', tools: [other] });
    expect((await other.start('a')).attempt).toBe(1);
  });

  it('waits for the last report to be taken', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { drainTimeoutMs: 1, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    let failures = 1;
    plane.interfere = (name) => {
      if (name === 'report' && failures-- > 0) throw new Refusal(503);
    };
    tool.end('a');
    await worker.drain();
    expect(plane.terminal('a')).toBe('command.completed');
    expect(plane.released).toEqual([]);
  });

  it('gives back commands that arrive after the drain began', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const { lease } = plane.api;
    // The server had already claimed for this long poll when the worker gave it up.
    const late: typeof lease = (request) => lease(request);
    const worker = start(plane, { api: { ...plane.api, lease: late }, tools: [tool] });
    await plane.until(() => count(plane, 'lease') > 0);
    const drained = worker.drain();
    plane.add('a');
    await drained;
    await plane.until(() => plane.released.length === 1);
    expect(tool.started).toEqual([]);
  });

  it('does it once, however often it is asked', async () => {
    const plane = controlPlane();
    const worker = start(plane, { tools: [manualTool()] });
    await Promise.all([worker.drain(), worker.drain(), worker[Symbol.asyncDispose]()]);
    expect(count(plane, 'deregister')).toBe(1);
  });

  it('is cut short by stop', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { drainTimeoutMs: 600_000, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    const drained = worker.drain();
    await worker.stop();
    await drained;
    expect(plane.released).toHaveLength(1);
  });

  it('closes also while the server is away', async () => {
    const plane = controlPlane();
    plane.interfere = () => {
      throw new Refusal(undefined);
    };
    const worker = start(plane, { tools: [manualTool()] });
    await worker.drain();
    expect(worker.phase).toBe('closed');
  });
});
