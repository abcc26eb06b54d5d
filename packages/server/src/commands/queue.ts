// Commands that are ready, and workers that wait for one. A command goes to a waiting worker inside the transaction that issues it;
// what finds nobody waits here, in memory, and is refilled from the table (other servers issue commands too, and delays end).
// The table is the truth: a command in here may be gone, and its claim is then refused by the log.
import type { Offer, Taker } from '../log/index.js';
import { type ReadyCommand, readyFromOffer } from './ready.js';

export interface Waiter {
  readonly workerId: string;
  readonly pools: ReadonlySet<string>;
  /** A report is answered now; a poll can wait for the next command. */
  readonly urgent: boolean;
  /** How many more it takes. */
  wanted: number;
  /** Claimed for it in a batch that is not committed yet. */
  promised: number;
  readonly received: Claimed[];
  /** A promise was kept or withdrawn. */
  settled(): void;
  /** Something it may take has become ready. */
  wake(): void;
}

export interface Claimed {
  readonly command: ReadyCommand;
  readonly token: number;
}

export interface CommandQueue {
  /** Takes ready commands off the queue; each must be claimed in the log, or put back. */
  take(pools: ReadonlySet<string>, max: number): ReadyCommand[];
  /** False when it is known already or there is no room: the table still has it. */
  put(command: ReadyCommand): boolean;
  /** No longer ready: claimed, finished or cancelled. */
  forget(commandId: string): void;
  wait(waiter: Waiter): () => void;
  /** Hook of the log: who takes a command that is being issued. */
  offer(offer: Offer): Taker | undefined;
  /** Pools somebody waits for. */
  wantedPools(): Set<string>;
  readonly ready: number;
  readonly waiting: number;
}

const CAPACITY = 20_000;

/** `onPoll` is told whenever somebody starts to wait: the moment to look for commands that are only in the table. */
export function createCommandQueue(onPoll: () => void = () => undefined): CommandQueue {
  const byPool = new Map<string, Map<string, ReadyCommand>>();
  const urgent = new Set<Waiter>();
  const patient = new Set<Waiter>();
  let ready = 0;

  const poolOf = (pool: string) => {
    let commands = byPool.get(pool);
    if (commands === undefined) {
      commands = new Map();
      byPool.set(pool, commands);
    }
    return commands;
  };

  const takerAmong = (sets: readonly Set<Waiter>[], pool: string): Waiter | undefined => {
    for (const set of sets) {
      for (const waiter of set) if (waiter.wanted > 0 && waiter.pools.has(pool)) return waiter;
    }
    return undefined;
  };

  return {
    take(pools, max) {
      const taken: ReadyCommand[] = [];
      for (const pool of pools) {
        const commands = byPool.get(pool);
        if (commands === undefined) continue;
        for (const command of commands.values()) {
          if (taken.length >= max) return taken;
          commands.delete(command.commandId);
          ready--;
          taken.push(command);
        }
      }
      return taken;
    },
    put(command) {
      const commands = poolOf(command.pool);
      if (commands.has(command.commandId) || ready >= CAPACITY) return false;
      commands.set(command.commandId, command);
      ready++;
      // Only a poll can be woken; a report that is being answered would swallow the call.
      takerAmong([patient], command.pool)?.wake();
      return true;
    },
    forget(commandId) {
      for (const commands of byPool.values()) if (commands.delete(commandId)) ready--;
    },
    wait(waiter) {
      const set = waiter.urgent ? urgent : patient;
      set.add(waiter);
      if (!waiter.urgent) onPoll();
      return () => set.delete(waiter);
    },
    offer(offer) {
      const pool = offer.insert.pool;
      // First come, first served: older commands of this pool are ready, so nobody is waiting for it anyway.
      if ((byPool.get(pool)?.size ?? 0) > 0) return undefined;
      const waiter = takerAmong([urgent, patient], pool);
      if (waiter === undefined) return undefined;
      waiter.wanted--;
      waiter.promised++;
      return {
        workerId: waiter.workerId,
        delivered(token) {
          waiter.promised--;
          waiter.received.push({ command: readyFromOffer(offer), token });
          waiter.settled();
        },
        withdrawn() {
          waiter.promised--;
          waiter.wanted++;
          waiter.settled();
        },
      };
    },
    wantedPools() {
      const pools = new Set<string>();
      for (const waiter of patient) if (waiter.wanted > 0) for (const pool of waiter.pools) pools.add(pool);
      return pools;
    },
    get ready() {
      return ready;
    },
    get waiting() {
      return patient.size;
    },
  };
}
