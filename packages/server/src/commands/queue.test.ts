import { describe, expect, it } from 'vitest';
import type { Offer } from '../log/index.js';
import { type CommandQueue, createCommandQueue, type Waiter } from './queue.js';
import type { ReadyCommand } from './ready.js';

const SHARED = new Set(['shared']);

function command(commandId: string, pool = 'shared'): ReadyCommand {
  const base = { executionId: '1', eventId: '2', step: 's', toolKind: 'noop', attempt: 1, maxAttempts: 3 };
  return { ...base, commandId, pool, context: {}, meta: {} } as ReadyCommand;
}

function offer(commandId: string, pool = 'shared'): Offer {
  const insert = { command_id: commandId, execution_id: '1', event_id: '2', step_name: 's', tool_kind: 'noop', pool };
  return { insert: { ...insert, attempt: 1, max_attempts: 3 }, row: { context: {}, meta: {} } } as unknown as Offer;
}

function waiter(wanted: number, pools = SHARED, urgent = false): Waiter & { woken: number; settlements: number } {
  return {
    workerId: 'w',
    pools,
    urgent,
    wanted,
    promised: 0,
    received: [],
    woken: 0,
    settlements: 0,
    settled() {
      this.settlements++;
    },
    wake() {
      this.woken++;
    },
  };
}

const taken = (queue: CommandQueue, max = 10, pools = SHARED) =>
  queue.take(pools, max).map(({ commandId }) => commandId);

describe('ready commands', () => {
  it('are taken first in, first out, each once', () => {
    const queue = createCommandQueue();
    for (const id of ['a', 'b', 'c']) queue.put(command(id));
    expect([taken(queue, 2), taken(queue, 2), taken(queue, 2)]).toEqual([['a', 'b'], ['c'], []]);
    expect(queue.ready).toBe(0);
  });

  it('are taken from the pools that were named only', () => {
    const queue = createCommandQueue();
    queue.put(command('a', 'gpu'));
    expect(taken(queue)).toEqual([]);
    expect(taken(queue, 1, new Set(['shared', 'gpu']))).toEqual(['a']);
  });

  it('are there once however often they are put', () => {
    const queue = createCommandQueue();
    expect([queue.put(command('a')), queue.put(command('a'))]).toEqual([true, false]);
    expect(taken(queue)).toEqual(['a']);
  });

  it('are gone when forgotten', () => {
    const queue = createCommandQueue();
    queue.put(command('a'));
    queue.forget('a');
    queue.forget('never seen');
    expect([taken(queue), queue.ready]).toEqual([[], 0]);
  });
});

describe('waiters', () => {
  it('one is woken by a command of its pool, not by others', () => {
    const queue = createCommandQueue();
    const one = waiter(1);
    queue.wait(one);
    queue.put(command('a', 'gpu'));
    expect(one.woken).toBe(0);
    queue.put(command('b'));
    expect(one.woken).toBe(1);
  });

  it('only one of them is woken per command', () => {
    const queue = createCommandQueue();
    const waiters = [waiter(1), waiter(1)];
    for (const one of waiters) queue.wait(one);
    queue.put(command('a'));
    expect(waiters.map(({ woken }) => woken)).toEqual([1, 0]);
  });

  it('a poll is woken also while a report is being answered, which cannot be', () => {
    const queue = createCommandQueue();
    const [report, poll] = [waiter(1, SHARED, true), waiter(1)];
    queue.wait(report);
    queue.wait(poll);
    queue.put(command('a'));
    expect([report.woken, poll.woken]).toEqual([0, 1]);
  });

  it('are counted, and their pools are wanted, until they leave', () => {
    const queue = createCommandQueue();
    const leave = queue.wait(waiter(1, new Set(['gpu'])));
    expect([queue.waiting, [...queue.wantedPools()]]).toEqual([1, ['gpu']]);
    leave();
    expect([queue.waiting, [...queue.wantedPools()]]).toEqual([0, []]);
  });
});

describe('an offer', () => {
  it('is delivered with its token after the commit', () => {
    const queue = createCommandQueue();
    const one = waiter(1);
    queue.wait(one);
    const taker = queue.offer(offer('a'));
    expect([one.wanted, one.promised, one.received.length]).toEqual([0, 1, 0]);
    taker?.delivered(7);
    expect([one.promised, one.settlements]).toEqual([0, 1]);
    expect(one.received).toMatchObject([{ token: 7, command: { commandId: 'a' } }]);
  });

  it('that is withdrawn leaves the worker as hungry as before', () => {
    const queue = createCommandQueue();
    const one = waiter(1);
    queue.wait(one);
    queue.offer(offer('a'))?.withdrawn();
    expect([one.wanted, one.promised, one.received]).toEqual([1, 0, []]);
    expect(queue.offer(offer('b'))).toBeDefined();
  });

  it('is not made to a worker that wants no more', () => {
    const queue = createCommandQueue();
    queue.wait(waiter(1));
    expect(queue.offer(offer('a'))).toBeDefined();
    expect(queue.offer(offer('b'))).toBeUndefined();
  });

  it('goes to a report that is being answered before a poll that can wait', () => {
    const queue = createCommandQueue();
    const [poll, report] = [waiter(1), waiter(1, SHARED, true)];
    queue.wait(poll);
    queue.wait(report);
    queue.offer(offer('a'))?.delivered(1);
    expect([poll.received.length, report.received.length]).toEqual([0, 1]);
  });

  it('does not overtake older commands of its pool', () => {
    const queue = createCommandQueue();
    queue.put(command('old'));
    queue.wait(waiter(1));
    expect(queue.offer(offer('new'))).toBeUndefined();
  });
});
