import type { CompiledPlaybook, Id } from '@noetl/core';
import type pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createAppender } from './appender.js';
import { createStateCache } from './cache.js';

const ID = '312047190466560000' as Id;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An appender of a shard that nobody can reach, and how often it tried. */
function ofLostShard() {
  let tries = 0;
  const pool = {
    async query() {
      tries++;
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    },
  } as unknown as pg.Pool;
  const unused = (): never => {
    throw new Error('never gets so far');
  };
  const appender = createAppender({
    shard: { index: 0, name: 'shard-0', pool, writer: pool },
    cache: createStateCache({ states: 10, events: 10 }),
    leaseMs: 1_000,
    world: unused,
    playbook: async (): Promise<CompiledPlaybook> => unused(),
    references: { get: unused, hold: unused } as never,
    tell: unused,
    offer: unused,
    committed: unused,
    onBrokenSnapshot: unused,
    observe: unused,
  });
  return { append: () => appender.append(ID, [{ type: 'cancel', reason: 'test' }]), tries: () => tries };
}

/** What became of it after so much time. */
async function after(ms: number, work: Promise<unknown>): Promise<'waiting' | 'refused'> {
  let state: 'waiting' | 'refused' = 'waiting';
  work.catch(() => {
    state = 'refused';
  });
  // In steps: between two tries there is work that no timer starts.
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    for (let turn = 0; turn < 5; turn++) await new Promise((next) => setImmediate(next));
  }
  return state;
}

it('a database that is away is waited for, for 30 seconds', async () => {
  const { append, tries } = ofLostShard();
  const first = append();
  expect(await after(25_000, first)).toBe('waiting');
  expect(tries()).toBeGreaterThan(10);
  expect(await after(10_000, first)).toBe('refused');
});

it('in a longer outage nobody is kept waiting: each append is tried twice', async () => {
  const { append, tries } = ofLostShard();
  await after(35_000, append());
  const before = tries();
  expect(await after(500, append())).toBe('refused');
  expect(tries()).toBe(before + 2);
});
