import type { HeartbeatRequest, LeaseRequest, RegisterWorkerRequest } from '@noetl/client';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { controlPlane, count, eventsOf, Refusal, reportsOf } from './control-plane.fixture.js';
import { manualTool } from './manual-tool.fixture.js';
import { noopTool } from './tools/noop.js';
import { start, stopAll } from './worker.fixture.js';

afterEach(stopAll);

describe('a worker that runs commands', () => {
  it('registers what it is before it asks for work', async () => {
    const plane = controlPlane();
    start(plane, { concurrency: 3, tools: [noopTool] });
    await plane.until(() => count(plane, 'lease') > 0);
    const names = plane.calls.map(({ name }) => name).filter((name) => name !== 'heartbeat');
    expect(names).toEqual(['register', 'lease']);
    const request = plane.calls.find(({ name }) => name === 'register')?.request as RegisterWorkerRequest;
    expect(request).toMatchObject({ name: 'w1', status: 'ready', capacity: 3, capabilities: { tools: ['noop'] } });
  });

  it('asks for all its slots in one long poll', async () => {
    const plane = controlPlane();
    start(plane, { concurrency: 5, pollWaitMs: 1234, tools: [manualTool()] });
    await plane.until(() => count(plane, 'lease') > 0);
    const request = plane.calls.find(({ name }) => name === 'lease')?.request as LeaseRequest;
    expect(request).toEqual({ worker_id: 'w1', pools: ['default'], max: 5, wait_ms: 1234 });
  });

  it('records start, result and end of a command in one report', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { tools: [tool] });
    plane.add('a');
    await tool.start('a');
    tool.end('a', { status: 'success', data: { n: 1 } });
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
    expect(reportsOf(plane)).toHaveLength(1);
  });

  it('starts the commands that come back with its report, without another request', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { concurrency: 1, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    plane.add('b');
    tool.end('a');
    await tool.start('b');
    expect(count(plane, 'lease')).toBe(1);
    expect(reportsOf(plane)[0]?.lease).toEqual({ pools: ['default'], max: 1 });
  });

  it('reports commands that end together in one request', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { concurrency: 4, tools: [tool] });
    for (const id of ['a', 'b', 'c', 'd']) plane.add(id);
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => tool.start(id)));
    for (const id of ['d', 'b', 'a', 'c']) tool.end(id);
    await plane.until(() => plane.claimed === 0);
    expect(reportsOf(plane).map(({ reports, lease }) => [reports.length, lease?.max])).toEqual([[4, 4]]);
  });

  it('has at most two reports under way and batches the rest', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { concurrency: 6, tools: [tool] });
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const id of ids) plane.add(id);
    await Promise.all(ids.map((id) => tool.start(id)));
    const gates: (() => void)[] = [];
    plane.interfere = (name) => (name === 'report' ? new Promise((resolve) => gates.push(resolve)) : undefined);
    for (const id of ids) {
      tool.end(id);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    }
    expect(reportsOf(plane).map(({ reports }) => reports.length)).toEqual([1, 1]);
    plane.interfere = () => undefined;
    for (const open of gates) open();
    await plane.until(() => plane.claimed === 0);
    expect(reportsOf(plane).map(({ reports }) => reports.length)).toEqual([1, 1, 4]);
  });

  it('announces a long run at once and then reports only its end', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { tools: [tool], announceAfterMs: 1 });
    plane.add('a');
    await plane.until(() => eventsOf(plane, 'a').length === 1);
    expect(eventsOf(plane, 'a')).toEqual(['command.started']);
    expect(plane.claimed).toBe(1);
    tool.end('a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
  });

  it('never sends the end of a command while its start is on the way', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    let open = (): void => undefined;
    plane.interfere = (name) =>
      name === 'report'
        ? new Promise((resolve) => {
            open = resolve;
          })
        : undefined;
    start(plane, { tools: [tool], announceAfterMs: 1 });
    plane.add('a');
    while (reportsOf(plane).length === 0) await new Promise((resolve) => setImmediate(resolve));
    tool.end('a');
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(reportsOf(plane)).toHaveLength(1);
    plane.interfere = () => undefined;
    open();
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
  });

  it('fails a command whose tool it does not have', async () => {
    const plane = controlPlane();
    start(plane, { tools: [noopTool] });
    plane.add('a', { tool_kind: 'teleport' });
    await plane.until(() => plane.terminal('a') !== undefined);
    const failed = plane.recorded.at(-1);
    expect(failed?.context['error']).toBe('Tool not found: teleport (this worker runs noop)');
    expect(failed?.context['error_info']).toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  it('fails a command whose result is not JSON', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { tools: [tool] });
    plane.add('a');
    await tool.start('a');
    const loop: { self?: never } = {};
    Object.assign(loop, { self: loop });
    tool.end('a', { status: 'success', data: loop as never });
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(plane.terminal('a')).toBe('command.failed');
  });

  it('hands the tool its inputs, the tool’s own before the step’s', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { tools: [tool] });
    const context = {
      tool_config: { input: { a: 2 }, timeout: '1.5' },
      args: { a: 1, b: 1 },
      render_context: { c: 3 },
    };
    plane.add('a', { context });
    const call = await tool.start('a');
    expect(call).toMatchObject({ input: { a: 2, b: 1 }, context: { c: 3 }, timeoutMs: 1500, config: { kind: 'test' } });
    expect(call).toMatchObject({ commandId: 'a', executionId: 'x', step: 'step-a', attempt: 1 });
  });
});

describe('the slots of a worker', () => {
  it('are never exceeded and never lost, in whatever order commands end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.record({ pick: fc.nat(), burst: fc.integer({ min: 0, max: 4 }), away: fc.boolean() }), {
          minLength: 1,
          maxLength: 25,
        }),
        async (concurrency, plan) => {
          const plane = controlPlane();
          const tool = manualTool();
          const worker = start(plane, { concurrency, tools: [tool] });
          let added = 0;
          const add = (): void => plane.add(`c${added++}`);
          add();
          for (const { pick, burst, away } of plan) {
            for (let index = 0; index < burst; index += 1) add();
            await plane.until(() => tool.running.size > 0 || plane.claimed === 0);
            // One report is lost on the way now and then; it must be sent again.
            let fails = away ? 1 : 0;
            plane.interfere = (name) => {
              if (name === 'report' && fails-- > 0) throw new Refusal(undefined);
            };
            const ids = [...tool.running.keys()];
            const id = ids[pick % Math.max(1, ids.length)];
            if (id !== undefined) tool.end(id);
            expect(worker.inFlight).toBeLessThanOrEqual(concurrency);
          }
          plane.interfere = () => undefined;
          while ([...Array(added).keys()].some((index) => plane.terminal(`c${index}`) === undefined)) {
            for (const id of [...tool.running.keys()]) tool.end(id);
            await new Promise((resolve) => setImmediate(resolve));
          }
          expect(plane.mostClaimed).toBeLessThanOrEqual(concurrency);
          // Every command ran once, and every slot came back: a new burst fills all of them at the same time.
          expect(tool.started).toHaveLength(added);
          for (let index = 0; index < concurrency; index += 1) add();
          while (tool.running.size < concurrency) await new Promise((resolve) => setImmediate(resolve));
          await worker.stop();
        },
      ),
      { numRuns: 30 },
    );
  });

  it('are not overrun by a server that sends too much: the rest goes back', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const { lease } = plane.api;
    const generous = {
      ...plane.api,
      lease: ((request, options) => lease({ ...request, max: 99 }, options)) as typeof lease,
    };
    for (const id of ['a', 'b', 'c']) plane.add(id);
    const worker = start(plane, { api: generous, concurrency: 2, tools: [tool] });
    await plane.until(() => plane.released.length === 1);
    expect(worker.inFlight).toBe(2);
    expect(plane.released[0]).toMatchObject({ count_attempt: false, reason: 'no free slot' });
  });
});

describe('a worker whose server is away', () => {
  it('registers again until it succeeds', async () => {
    const plane = controlPlane();
    let failures = 2;
    plane.interfere = (name) => {
      if (name === 'register' && failures-- > 0) throw new Refusal(failures > 0 ? undefined : 503);
    };
    start(plane, { tools: [manualTool()] });
    await plane.until(() => count(plane, 'lease') > 0);
    expect(plane.registered).toEqual(new Set(['w1']));
  });

  it('asks for work again', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    let failures = 2;
    plane.interfere = (name) => {
      if (name === 'lease' && failures-- > 0) throw new Refusal(502);
    };
    start(plane, { tools: [tool] });
    plane.add('a');
    await tool.start('a');
    expect(count(plane, 'lease')).toBeGreaterThanOrEqual(3);
  });

  it.each([undefined, 500, 503, 429, 401])(
    'keeps a report until it is taken (%s), and keeps its lease',
    async (status) => {
      const plane = controlPlane();
      const tool = manualTool();
      start(plane, { tools: [tool] });
      plane.add('a');
      await tool.start('a');
      let failures = 2;
      plane.interfere = (name) => {
        if (name === 'report' && failures-- > 0) throw new Refusal(status);
      };
      tool.end('a');
      await plane.until(() => {
        const beat = plane.calls.at(-1)?.request as HeartbeatRequest | undefined;
        return failures <= 1 && beat?.leases?.[0]?.command_id === 'a';
      });
      await plane.until(() => plane.terminal('a') !== undefined);
      expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
    },
  );

  it('records a result once when only the answer was lost', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const { report } = plane.api;
    let lost = 1;
    const lossy: typeof report = async (request) => {
      const answer = await report(request);
      if (lost-- > 0) throw new Refusal(undefined);
      return answer;
    };
    start(plane, { api: { ...plane.api, report: lossy }, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    tool.end('a');
    await plane.until(() => reportsOf(plane).length === 2);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
  });

  it('registers again when the server has forgotten it', async () => {
    const plane = controlPlane();
    start(plane, { tools: [manualTool()] });
    await plane.until(() => count(plane, 'lease') > 0);
    plane.registered.clear();
    await plane.until(() => count(plane, 'register') === 2);
    expect(plane.registered).toEqual(new Set(['w1']));
  });
});

describe('a report that the server cannot read', () => {
  it('is isolated, its neighbours are recorded, and its command fails with a reason', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const ids = ['a', 'b', 'c', 'd', 'e'];
    plane.interfere = (name, request) => {
      if (name === 'report' && JSON.stringify(request).includes('poison')) throw new Refusal(422);
    };
    const worker = start(plane, { concurrency: 5, tools: [tool] });
    for (const id of ids) plane.add(id);
    await Promise.all(ids.map((id) => tool.start(id)));
    for (const id of ids) tool.end(id, { status: 'success', data: id === 'd' ? 'poison' : id });
    await plane.until(() => plane.claimed === 0);
    expect(ids.map((id) => plane.terminal(id))).toEqual([
      'command.completed',
      'command.completed',
      'command.completed',
      'command.failed',
      'command.completed',
    ]);
    const failed = plane.recorded.find((event) => event.event_type === 'command.failed');
    expect(failed?.context['error_info']).toMatchObject({ code: 'REPORT_REJECTED' });
    await plane.until(() => worker.inFlight === 0);
  });

  it('gives its slot back even when the server reads nothing at all', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    plane.interfere = (name) => {
      if (name === 'report') throw new Refusal(400);
    };
    start(plane, { concurrency: 1, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    plane.add('b');
    tool.end('a');
    await tool.start('b');
    expect(reportsOf(plane)).toHaveLength(2);
  });
});

describe('a command that is taken away', () => {
  it('is aborted and reported as cancelled', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { tools: [tool] });
    plane.add('a');
    const call = await tool.start('a');
    plane.cancelled.add('a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(call.signal.aborted).toBe(true);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'command.cancelled']);
  });

  it('is aborted without a word when the lease is lost', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { tools: [tool] });
    plane.add('a');
    const call = await tool.start('a');
    plane.lost.add('a');
    await plane.until(() => worker.inFlight === 0);
    expect(call.signal.aborted).toBe(true);
    expect(plane.recorded).toEqual([]);
  });

  it('is run anew when the same worker gets it again', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    start(plane, { concurrency: 2, heartbeatMs: 60_000, tools: [tool] });
    plane.add('a');
    const first = await tool.start('a');
    plane.expire('a');
    while (tool.started.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(first.signal.aborted).toBe(true);
    const second = await tool.start('a');
    expect(second.attempt).toBe(2);
    tool.end('a');
    await plane.until(() => plane.terminal('a') !== undefined);
    expect(eventsOf(plane, 'a')).toEqual(['command.started', 'call.done', 'command.completed']);
  });

  it('is dropped when its report comes too late', async () => {
    const plane = controlPlane();
    const tool = manualTool();
    const worker = start(plane, { concurrency: 1, heartbeatMs: 60_000, tools: [tool] });
    plane.add('a');
    await tool.start('a');
    plane.add('a');
    tool.end('a');
    // The stale result is refused; the same answer brings the new claim.
    await tool.start('a');
    expect(worker.inFlight).toBe(1);
    expect(plane.recorded).toEqual([]);
  });
});
