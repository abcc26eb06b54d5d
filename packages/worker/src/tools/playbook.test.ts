import type { JsonObject } from '@noetl/core';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Child, type ControlPlane, controlPlane, count, Refusal } from '../control-plane.fixture.js';
import { createPlaybookTool } from './playbook.js';
import { CommandAborted, type Suspension, type ToolAnswer, type ToolCall } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

let plane: ControlPlane;
let at = 0;
beforeEach(() => {
  plane = controlPlane();
  at = 1_000_000;
});

/** Looks at the child once each time it is called. */
const tool = createPlaybookTool({ looksMs: [], delaysMs: [2_000, 5_000, 10_000], now: () => at });

function run(config: JsonObject, parts: Partial<ToolCall> = {}): Promise<ToolAnswer> {
  const call = toolCall({ kind: 'playbook', path: 'a/b', ...config }, { executions: plane.api, ...parts });
  return tool.run(call);
}

async function waiting(config: JsonObject = { wait: true }, parts: Partial<ToolCall> = {}): Promise<Suspension> {
  const answer = await run(config, parts);
  if (answer.status !== 'suspended') throw new Error('the tool does not wait');
  return answer;
}

function child(): Child {
  const [only] = plane.children;
  if (only === undefined) throw new Error('no child was started');
  return only;
}

describe('starting a playbook', () => {
  it('answers at once when nobody wants its data', async () => {
    expect(await run({})).toEqual({
      status: 'success',
      data: { status: 'started', execution_id: 'child-1', path: 'a/b', async: true },
    });
    expect(count(plane, 'status')).toBe(0);
  });

  it('hands over its inputs, its version and whose child it is', async () => {
    await run({ version: 3, workload: { a: 1, b: 1, c: 1 }, payload: { b: 2, c: 2 } }, { input: { c: 3 } });
    expect(child().request).toEqual({
      path: 'a/b',
      version: 3,
      payload: { a: 1, b: 2, c: 3 },
      parent_execution_id: '325000000000000001',
    });
  });

  it('takes an entry of the catalog by its id', async () => {
    await run({ path: null, catalog_id: '400000000000000001' });
    expect(child().request).toMatchObject({ catalog_id: '400000000000000001' });
    expect(child().request).not.toHaveProperty('path');
  });

  it.each<[string, JsonObject]>([
    ['no path', { path: ' ' }],
    ['a path that is no text', { path: 7 }],
    ['a version that is none', { version: [1] }],
    ['a wait that is neither yes nor no', { wait: 'perhaps' }],
  ])('refuses %s', async (_what, config) => {
    await expect(run(config)).rejects.toThrow('Invalid playbook config');
    expect(plane.children).toEqual([]);
  });

  it('finds the child again that the same attempt has started', async () => {
    await run({}, { idempotencyKey: 'cmd-1:task' });
    await run({}, { idempotencyKey: 'cmd-1:task' });
    expect(plane.children.map(({ key }) => key)).toEqual(['cmd-1:task']);
  });

  it('starts another child in another attempt', async () => {
    await run({}, { idempotencyKey: 'cmd-1:task' });
    await run({}, { idempotencyKey: 'cmd-1:task', attempt: 2 });
    expect(plane.children.map(({ key }) => key)).toEqual(['cmd-1:task', 'cmd-1:task:attempt-2']);
  });

  it('shortens a key that no server would take', async () => {
    await run({}, { idempotencyKey: 'x'.repeat(256) });
    expect(child().key).toMatch(/^[0-9a-f]{64}$/);
  });

  it('waits for a server that is away', async () => {
    let failures = 1;
    plane.interfere = (name) => {
      if (name === 'execute' && failures-- > 0) throw new Refusal(undefined);
    };
    expect((await run({})).status).toBe('success');
  });

  it.each([404, 409, 422])('fails with a playbook that the server refuses with %i', async (status) => {
    plane.interfere = (name) => {
      if (name === 'execute') throw new Refusal(status);
    };
    await expect(run({})).rejects.toMatchObject({
      message: `playbook 'a/b' could not be started: HTTP ${status}`,
      info: { kind: 'child', code: 'CHILD_FAILED', retryable: false },
    });
  });
});

describe('waiting for a playbook', () => {
  it.each<JsonObject>([{ wait: true }, { return_result: 'true' }, { return_step: 'x' }, { result_step: 'x' }])(
    'is asked for by %o',
    async (config) => {
      expect((await waiting(config)).reason).toBe("waits for execution child-1 of 'a/b'");
    },
  );

  it('does not hold the slot: it is called again later, and later, and later', async () => {
    const first = await waiting();
    const second = await waiting({ wait: true }, { resume: first.state });
    const third = await waiting({ wait: true }, { resume: second.state });
    const fourth = await waiting({ wait: true }, { resume: third.state });
    expect([first, second, third, fourth].map(({ delayMs }) => delayMs)).toEqual([2_000, 5_000, 10_000, 10_000]);
    expect(plane.children).toHaveLength(1);
    expect(count(plane, 'execute')).toBe(1);
  });

  it('looks a few times before it gives the slot back', async () => {
    const quick = createPlaybookTool({ looksMs: [1, 1], delaysMs: [2_000] });
    await quick.run(toolCall({ kind: 'playbook', path: 'a/b', wait: true }, { executions: plane.api }));
    expect(count(plane, 'status')).toBe(3);
  });

  it('brings back the data of the last step', async () => {
    const { state } = await waiting();
    Object.assign(child(), { status: 'COMPLETED', steps: { x: 1, y: 2 }, result: 2 });
    expect(await run({ wait: true }, { resume: state })).toEqual({
      status: 'success',
      data: { status: 'completed', execution_id: 'child-1', path: 'a/b', data: 2 },
    });
  });

  it.each([
    ['x', 1],
    ['no such step', 2],
  ])('brings back the data of step %o', async (return_step, data) => {
    const { state } = await waiting({ return_step });
    Object.assign(child(), { status: 'COMPLETED', steps: { x: 1, y: 2 }, result: 2 });
    expect(await run({ return_step }, { resume: state })).toMatchObject({ data: { data } });
  });

  it.each([
    ['FAILED', 'CHILD_FAILED', "execution child-1 of 'a/b' failed: boom"],
    ['CANCELLED', 'CHILD_CANCELLED', "execution child-1 of 'a/b' was cancelled: boom"],
  ] as const)('fails when it is %s', async (status, code, message) => {
    const { state } = await waiting();
    Object.assign(child(), { status, error: 'boom' });
    expect(await run({ wait: true }, { resume: state })).toMatchObject({
      status: 'error',
      error: message,
      error_info: { kind: 'child', code, retryable: false, details: { execution_id: 'child-1' } },
    });
  });

  it('starts anew from a state that it cannot read', async () => {
    await waiting({ wait: true }, { resume: { some: 'thing' } });
    expect(plane.children).toHaveLength(1);
  });
});

describe('a playbook that takes too long', () => {
  it('is cancelled, and the task has timed out', async () => {
    const { state } = await waiting({ wait: true, timeout: 30 });
    at += 30_000;
    expect(await run({ wait: true, timeout: 30 }, { resume: state })).toMatchObject({
      status: 'timeout',
      error: "execution child-1 of 'a/b' did not end within 30 seconds; it is cancelled",
      error_info: { kind: 'timeout', code: 'TIMEOUT' },
    });
    expect(child().status).toBe('CANCELLED');
  });

  it('is looked at when its time is up, not later', async () => {
    expect((await waiting({ wait: true, timeout: 1.5 })).delayMs).toBe(1_500);
  });

  it('counts when it has ended just before', async () => {
    const { state } = await waiting({ wait: true, timeout: 30 });
    at += 30_000;
    child().status = 'COMPLETED';
    expect((await run({ wait: true, timeout: 30 }, { resume: state })).status).toBe('success');
  });
});

describe('an abort while a playbook is waited for', () => {
  async function abortedBy(why: CommandAborted['why']): Promise<void> {
    const controller = new AbortController();
    plane.interfere = (name) => {
      if (name === 'status') controller.abort(new CommandAborted(why));
    };
    await expect(run({ wait: true }, { signal: controller.signal })).rejects.toThrow(`command ${why}`);
  }

  it('cancels it when the command was cancelled', async () => {
    await abortedBy('cancelled');
    expect(child().status).toBe('CANCELLED');
  });

  it.each(['lost', 'released'] as const)('leaves it alone when the command was %s', async (why) => {
    await abortedBy(why);
    expect(child().status).toBe('RUNNING');
  });

  it('cancels it also when it has just been started', async () => {
    const controller = new AbortController();
    plane.interfere = (name) => {
      if (name === 'execute') controller.abort(new CommandAborted('cancelled'));
    };
    await expect(run({ wait: true }, { signal: controller.signal })).rejects.toThrow('command cancelled');
    expect(child().status).toBe('CANCELLED');
  });
});
