// The commands this worker holds. Each takes one slot from the moment it is claimed until the server has answered for its
// end, so `held.size` is the number of slots in use and the unsent reports can never outgrow the slots.
import type { LeasedCommand } from '@noetl/client';
import type { Json } from '@noetl/core';
import { CommandAborted } from './tools/tool.js';

/**
 * running -> reporting (the tool ended, its report is on the way) -> gone
 * running -> releasing (the tool suspended itself, the command is on its way back) -> gone
 *            releasing -> running (the server does not take the state: the wait is spent here)
 * running -> gone (the lease was lost, or given back)
 */
export interface Held {
  readonly command: LeasedCommand;
  readonly controller: AbortController;
  readonly startedAt: Date;
  readonly startedMs: number;
  phase: 'running' | 'reporting' | 'releasing';
  /** Where the tool goes on: what it last suspended itself with. */
  resume: Json | undefined;
  /** Why the run was cut short; what the tool answers then is not looked at. */
  cut?: CommandAborted['why'];
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
        resume: command.resume,
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
  held.controller.abort(new CommandAborted(why));
}
