// Giving commands to workers: claimed in the log first, handed out after the commit. A long poll waits until something is issued.
import type { LeasedCommand } from '@noetl/client';
import type { Id } from '@noetl/core';
import type { Log } from '../log/index.js';
import { TooSlow, within } from '../within.js';
import type { CommandQueue, Waiter } from './queue.js';
import { leasedCommand, type ReadyCommand } from './ready.js';

/** How long a poll waits for the claim of one command while others may have succeeded. */
const PATIENCE_MS = 5_000;

export interface LeaseDesk {
  /**
   * Waits at most `waitMs` for the first command. `signal`: the worker is gone, and what was claimed for it is given back.
   * `hurry`: do not wait any longer.
   */
  lease(request: LeaseWish & { waitMs: number; signal: AbortSignal; hurry: AbortSignal }): Promise<LeasedCommand[]>;
  /**
   * Runs `work` while a place in the queue is held: commands that it issues can be claimed in its own transaction. Never waits
   * longer than `work` does.
   */
  leaseDuring(wish: LeaseWish, work: () => Promise<void>): Promise<LeasedCommand[]>;
}

export interface LeaseWish {
  readonly workerId: string;
  readonly pools: readonly string[];
  readonly max: number;
}

export function createLeaseDesk(options: { log: Log; queue: CommandQueue; leaseMs: number }): LeaseDesk {
  const { log, queue, leaseMs } = options;

  /** Undefined when it is gone. */
  async function claimOne(workerId: string, command: ReadyCommand): Promise<LeasedCommand | undefined> {
    const [outcome] = await log.append(command.executionId, [
      { type: 'claim', commandId: command.commandId, workerId, after: command.token },
    ]);
    if (outcome?.refused !== undefined || outcome?.command === undefined) return undefined;
    return leasedCommand({ ...command, attempt: outcome.command.attempt }, outcome.command.token, leaseMs);
  }

  /** Claims commands that were ready. One that is gone is simply not ours. */
  async function claimReady(workerId: string, commands: readonly ReadyCommand[]): Promise<LeasedCommand[]> {
    const leased = await Promise.all(
      commands.map(async (command) => {
        const claim = claimOne(workerId, command);
        try {
          return await within(PATIENCE_MS, claim);
        } catch (error) {
          // Its shard may be away: the commands of the others do not wait for it. If it becomes ours after all, nobody is here to run it.
          if (error instanceof TooSlow) void claim.then((late) => late && giveBack([late])).catch(() => undefined);
          // Not put back: a claim that fails at once would be tried again at once, for ever. The table still has the command, and the
          // refill finds it within a second.
          return undefined;
        }
      }),
    );
    return leased.filter((command) => command !== undefined);
  }

  /** Nobody is there to run them any more. */
  async function giveBack(commands: readonly LeasedCommand[]): Promise<void> {
    await Promise.allSettled(
      commands.map((command) =>
        log.append(command.execution_id as Id, [
          {
            type: 'release',
            commandId: command.command_id,
            token: command.claim_token,
            reason: 'the worker left before it received the command',
            delayMs: 0,
            countAttempt: false,
          },
        ]),
      ),
    );
  }

  const received = (waiter: Waiter) =>
    waiter.received.map(({ command, token }) => leasedCommand(command, token, leaseMs));

  /** Resolves when something was delivered or has become ready, when the worker leaves, or when time is up. */
  function waitForOffer(
    wish: LeaseWish,
    patienceMs: number,
    signals: readonly AbortSignal[],
  ): Promise<LeasedCommand[]> {
    return new Promise((resolve) => {
      let leaving = false;
      const leave = () => {
        leaving = true;
        waiter.wanted = 0;
        waiter.settled();
      };
      const waiter: Waiter = {
        workerId: wish.workerId,
        pools: new Set(wish.pools),
        urgent: false,
        wanted: wish.max,
        promised: 0,
        received: [],
        settled() {
          // What a running batch has claimed for us must arrive first, or it would be lost until its lease ends.
          if (waiter.promised > 0 || (waiter.received.length === 0 && !leaving)) return;
          clearTimeout(timer);
          for (const signal of signals) signal.removeEventListener('abort', leave);
          close();
          resolve(received(waiter));
        },
        wake: leave,
      };
      const close = queue.wait(waiter);
      const timer = setTimeout(leave, patienceMs);
      for (const signal of signals) signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async lease({ waitMs, signal, hurry, ...wish }) {
      const pools = new Set(wish.pools);
      const deadline = Date.now() + waitMs;
      for (;;) {
        const ready = queue.take(pools, wish.max);
        const patience = deadline - Date.now();
        if (ready.length === 0 && (patience <= 0 || signal.aborted || hurry.aborted)) return [];
        const leased =
          ready.length > 0
            ? await claimReady(wish.workerId, ready)
            : await waitForOffer(wish, patience, [signal, hurry]);
        if (leased.length === 0) continue;
        if (!signal.aborted) return leased;
        await giveBack(leased);
        return [];
      }
    },
    async leaseDuring(wish, work) {
      const ready = queue.take(new Set(wish.pools), wish.max);
      const waiter: Waiter = {
        workerId: wish.workerId,
        pools: new Set(wish.pools),
        urgent: true,
        wanted: wish.max - ready.length,
        promised: 0,
        received: [],
        settled: () => undefined,
        wake: () => undefined,
      };
      const close = queue.wait(waiter);
      const [claimed, worked] = await Promise.allSettled([claimReady(wish.workerId, ready), work()]);
      waiter.wanted = 0;
      // Another batch may have promised us something while ours was being written.
      while (waiter.promised > 0) await new Promise<void>((wake) => Object.assign(waiter, { settled: wake }));
      close();
      const leased = [...(claimed.status === 'fulfilled' ? claimed.value : []), ...received(waiter)];
      if (worked.status === 'fulfilled') return leased;
      await giveBack(leased);
      throw worked.reason;
    },
  };
}
