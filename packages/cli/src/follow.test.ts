import type { StreamMessage } from '@noetl/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exitCodeOf, followExecution } from './follow.js';
import { type FakeExecution, fakeExecution } from './testing/fake-client.js';
import { log, type SampleEvent } from './testing/sample-events.js';
import type { TreeState } from './tree/state.js';

const messages = (...samples: SampleEvent[]): StreamMessage[] =>
  log(...samples).map((data) => ({ event: 'event', id: data.event_id, data }));
const ended = (status: 'COMPLETED' | 'FAILED' | 'CANCELLED'): StreamMessage => ({
  event: 'status',
  data: { execution_id: '1', status },
});

function follow(execution: FakeExecution, options: { timeoutMs?: number; interrupt?: AbortSignal } = {}) {
  const seen: TreeState[] = [];
  const view = { update: (tree: TreeState) => void seen.push(tree), close: vi.fn() };
  const outcome = followExecution({
    client: execution.client,
    executionId: '1',
    path: 'samples/x',
    view,
    timeoutMs: options.timeoutMs,
    interrupt: options.interrupt ?? new AbortController().signal,
  });
  return { outcome, seen, view };
}

describe('following an execution', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('ends with the terminal event, shows every change and closes the view', async () => {
    const execution = fakeExecution();
    const { outcome, seen, view } = follow(execution);
    execution.push(
      ...messages({ type: 'playbook_started' }, { type: 'step.enter', step: 'a' }, { type: 'playbook.completed' }),
    );
    const result = await outcome;
    expect(exitCodeOf(result)).toBe(0);
    expect(seen.map(({ status }) => status)).toEqual(['PENDING', 'RUNNING', 'RUNNING', 'COMPLETED']);
    expect(view.close).toHaveBeenCalledOnce();
  });

  it('gives exit code 3 for a failed execution', async () => {
    const execution = fakeExecution();
    const { outcome } = follow(execution);
    execution.push(...messages({ type: 'playbook.failed', error: 'x' }));
    expect(exitCodeOf(await outcome)).toBe(3);
  });

  it('gives exit code 4 when somebody else cancelled it', async () => {
    const execution = fakeExecution();
    const { outcome } = follow(execution);
    execution.push(ended('CANCELLED'));
    expect(exitCodeOf(await outcome)).toBe(4);
  });

  it('cancels after the timeout, waits for the end and gives exit code 5', async () => {
    const execution = fakeExecution((push) => push(ended('CANCELLED')));
    const { outcome } = follow(execution, { timeoutMs: 1_000 });
    await vi.advanceTimersByTimeAsync(999);
    expect(execution.cancels).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(exitCodeOf(await outcome)).toBe(5);
    expect(execution.cancels).toEqual(['timed out on the command line']);
  });

  it('cancels on Ctrl-C and gives exit code 4', async () => {
    const execution = fakeExecution((push) => push(ended('CANCELLED')));
    const interrupt = new AbortController();
    const { outcome } = follow(execution, { interrupt: interrupt.signal });
    interrupt.abort();
    expect(exitCodeOf(await outcome)).toBe(4);
    expect(execution.cancels).toHaveLength(1);
  });

  it('reports the true end when the execution was faster than the cancel', async () => {
    const execution = fakeExecution((push) => push(...messages({ type: 'playbook.completed' })));
    const { outcome } = follow(execution, { timeoutMs: 1_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exitCodeOf(await outcome)).toBe(0);
  });

  it('does not wait for ever for a cancelled execution to end', async () => {
    const { outcome } = follow(fakeExecution(), { timeoutMs: 1_000 });
    await vi.advanceTimersByTimeAsync(11_000);
    expect(exitCodeOf(await outcome)).toBe(5);
  });
});
