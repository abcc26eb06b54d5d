// What a worker reports about large results, and what happens when they cannot be stored.
import type { JsonObject } from '@noetl/core';
import { afterEach, expect, it } from 'vitest';
import { type ControlPlane, controlPlane, count, eventsOf, Refusal } from '../control-plane.fixture.js';
import type { Tool, ToolResult } from '../tools/tool.js';
import { start, stopAll } from '../worker.fixture.js';

afterEach(stopAll);

const ROWS = Array.from({ length: 2_000 }, (_, index) => ({ id: index, text: 'x'.repeat(40) }));

function answering(result: ToolResult): Tool {
  return { kind: 'test', run: async () => result };
}

async function report(plane: ControlPlane, result: ToolResult, parts: Parameters<ControlPlane['add']>[1] = {}) {
  start(plane, { tools: [answering(result)] });
  plane.add('c1', { execution_id: '325', step: 'make', ...parts });
  await plane.until(() => plane.terminal('c1') !== undefined);
  const call = plane.recorded.find(({ event_type }) => event_type.startsWith('call.'));
  return (call?.context['result'] ?? {}) as { status?: string; context: JsonObject; reference?: JsonObject };
}

it('stores a large result before it reports', async () => {
  const plane = controlPlane();
  const { context, reference } = await report(plane, { status: 'success', data: { total: 2_000, rows: ROWS } });
  expect(reference).toMatchObject({
    kind: 'result_ref',
    ref: 'noetl://execution/325/result/make/1',
    scope: 'execution',
  });
  expect(context['data']).toMatchObject({ _ref: reference?.['ref'], total: 2_000 });
  expect(plane.stored.get(String(reference?.['ref']))).toEqual({ total: 2_000, rows: ROWS });
  const names = plane.calls.map(({ name }) => name);
  expect(names.indexOf('putResult')).toBeLessThan(names.lastIndexOf('report'));
});

it('keeps a small result in the report', async () => {
  const plane = controlPlane();
  const { context, reference } = await report(plane, { status: 'success', data: { rows: [1, 2] } });
  expect(context['data']).toEqual({ rows: [1, 2] });
  expect(reference).toBeUndefined();
  expect(count(plane, 'putResult')).toBe(0);
});

it.each([
  ['exactly at the limit', 'x'.repeat(65_534), 0],
  ['one byte above it', 'x'.repeat(65_535), 1],
  ['in few characters of many bytes', '\u0001'.repeat(12_000), 1],
])('measures bytes of JSON: a result %s', async (_, data, stored) => {
  const plane = controlPlane();
  await report(plane, { status: 'success', data });
  expect(count(plane, 'putResult')).toBe(stored);
});

it('follows the author: how much is inline, what stays readable, for how long', async () => {
  const plane = controlPlane();
  const output = { inline_max_bytes: 10, output_select: ['page'], scope: 'workflow', store: { ttl: '2h' } };
  const { context } = await report(
    plane,
    { status: 'success', data: { page: { next: 2 }, rows: [1] } },
    { meta: { output } },
  );
  expect(context['data']).toMatchObject({ page: { next: 2 }, _ref: expect.any(String) });
  expect(context['data']).not.toHaveProperty('rows');
  const request = plane.calls.find(({ name }) => name === 'putResult')?.request;
  expect(request).toMatchObject({ name: 'make', source_step: 'make', scope: 'workflow', ttl: '2h' });
});

it('stores the large result of a tool that failed, too', async () => {
  const plane = controlPlane();
  const result = await report(plane, { status: 'error', error: 'no', data: { rows: ROWS } });
  expect(result).toMatchObject({ status: 'error', reference: { kind: 'result_ref' } });
  expect(plane.terminal('c1')).toBe('command.failed');
});

it('stores a list of tools as it is, and reports what it has set', async () => {
  const plane = controlPlane();
  const data = { make: { rows: ROWS }, _pipeline: ['make'], _context_updates: { 'ctx.n': 1 } };
  const { context, reference } = await report(plane, { status: 'success', data });
  expect(context).toMatchObject({
    context_updates: { 'ctx.n': 1 },
    data: { _keys: expect.arrayContaining(['rows', 'make']) },
  });
  expect(context['data']).not.toHaveProperty('_pipeline');
  expect(plane.stored.get(String(reference?.['ref']))).toEqual({ make: { rows: ROWS }, _pipeline: ['make'] });
});

it('leaves the rows that a cursor claims to the engine', async () => {
  const plane = controlPlane();
  const { context } = await report(
    plane,
    { status: 'success', data: { rows: ROWS } },
    { meta: { cursor: { phase: 'claim' } } },
  );
  expect(context['data']).toEqual({ rows: ROWS });
});

it('waits for a server that is away, and reports once', async () => {
  const plane = controlPlane();
  let refusals = 2;
  plane.interfere = (name) => {
    if (name === 'putResult' && refusals-- > 0) throw new Refusal(refusals === 0 ? 503 : undefined);
  };
  await report(plane, { status: 'success', data: ROWS });
  expect(count(plane, 'putResult')).toBe(3);
  expect(eventsOf(plane, 'c1')).toEqual(['command.started', 'call.done', 'command.completed']);
});

it('fails the command when the result is refused for good', async () => {
  const plane = controlPlane();
  plane.interfere = (name) => {
    if (name === 'putResult') throw new Refusal(413);
  };
  await report(plane, { status: 'success', data: ROWS });
  expect(plane.terminal('c1')).toBe('command.failed');
  const failed = plane.recorded.find(({ event_type }) => event_type === 'command.failed');
  expect(failed?.context['error_info']).toMatchObject({ code: 'RESULT_STORE_FAILED', kind: 'storage_quota' });
});

it('stops trying when the lease is lost, and reports nothing', async () => {
  const plane = controlPlane();
  plane.interfere = (name) => {
    if (name !== 'putResult') return;
    plane.lost.add('c1');
    throw new Refusal(503);
  };
  const worker = start(plane, { tools: [answering({ status: 'success', data: ROWS })] });
  plane.add('c1');
  await plane.until(() => count(plane, 'putResult') > 0);
  await plane.until(() => worker.inFlight === 0);
  expect(plane.terminal('c1')).toBeUndefined();
});
