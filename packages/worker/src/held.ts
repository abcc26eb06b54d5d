// The commands this worker holds. Each takes one slot from the moment it is claimed until the server has answered for its
// end, so `held.size` is the number of slots in use and the unsent reports can never outgrow the slots.
import type { LeasedCommand } from '@noetl/client';

/**
 * running -> reporting (the tool ended, its report is on the way) -> gone
 * running -> gone (the lease was lost, or given back)
 */
export interface Held {
  readonly command: LeasedCommand;
  readonly controller: AbortController;
  readonly startedAt: Date;
  readonly startedMs: number;
  phase: 'running' | 'reporting';
  /** Why the run was cut short; what the tool answers then is not looked at. */
  cut?: 'cancelled' | 'lost' | 'released';
  /** `command.started` was handed to the reporter. */
  startAnnounced: boolean;
  startTimer?: NodeJS.Timeout;
}

export interface HeldCommands extends Iterable<Held> {
  readonly size: number;
  add(command: LeasedCommand): Held;
  remove(held: Held): void;
  find(commandId: string, claimToken: number): Held | undefined;
  /** Resolves when nothing is held any more. */
  empty(): Promise<void>;
}

export function heldCommands(onChange: (size: number) => void): HeldCommands {
  const all = new Map<string, Held>();
  let waiting: (() => void)[] = [];
  // Lease and token together: after a lost lease the same command may come back while its first run is still ending.
  const key = (commandId: string, claimToken: number): string => `${claimToken} ${commandId}`;

  return {
    get size() {
      return all.size;
    },
    [Symbol.iterator]: () => all.values(),
    find: (commandId, claimToken) => all.get(key(commandId, claimToken)),
    add(command) {
      const held: Held = {
        command,
        controller: new AbortController(),
        startedAt: new Date(),
        startedMs: performance.now(),
        phase: 'running',
        startAnnounced: false,
      };
      all.set(key(command.command_id, command.claim_token), held);
      onChange(all.size);
      return held;
    },
    remove({ command }) {
      all.delete(key(command.command_id, command.claim_token));
      onChange(all.size);
      if (all.size > 0) return;
      const wake = waiting;
      waiting = [];
      for (const resolve of wake) resolve();
    },
    empty() {
      return all.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

/** Ends the run. The first reason stays. */
export function cutShort(held: Held, why: NonNullable<Held['cut']>): void {
  if (held.phase !== 'running' || held.cut !== undefined) return;
  held.cut = why;
  clearTimeout(held.startTimer);
  held.controller.abort(new Error(`command ${why}`));
}
