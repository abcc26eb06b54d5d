// Keeps one long poll open that asks for every free slot. While it is open those slots are promised to it: nobody else may
// fill them, and they come back with its answer, whatever that is.
import type { LeasedCommand, LeaseResponse } from '@noetl/client';
import { type ApiFailure, describeFailure } from './api.js';
import { backoffMs, pause } from './backoff.js';
import type { WorkerMetrics } from './metrics.js';

export interface LeaseLoop {
  /** Slots promised to the open request. */
  readonly promised: number;
  /** Slots may have become free: ask for them unless a request is open. */
  poke(): void;
}

export interface LeaseLoopOptions {
  freeSlots(): number;
  lease(max: number, signal: AbortSignal): Promise<LeaseResponse>;
  /** At most `max` of them were asked for; their slots are no longer promised when this is called. */
  onCommands(commands: readonly LeasedCommand[], max: number): void;
  onFailure(failure: ApiFailure, waitMs: number): void;
  /** There was nothing: waits until asking again is worthwhile. Without it the next request is the wait. */
  idle?(signal: AbortSignal): Promise<void>;
  readonly signal: AbortSignal;
  readonly metrics?: WorkerMetrics;
}

/** An empty answer that comes sooner than this was not a long poll; asking again at once would be a busy loop. */
const TOO_SOON_MS = 50;
const CALM_MS = 100;

export function leaseLoop(options: LeaseLoopOptions): LeaseLoop {
  const { signal, metrics } = options;
  let open = false;
  let promised = 0;
  let failures = 0;

  const poll = async (max: number): Promise<void> => {
    const startedAt = performance.now();
    const took = (): number => performance.now() - startedAt;
    try {
      const { commands } = await options.lease(max, signal);
      promised = 0;
      failures = 0;
      metrics?.pulled(commands.length > 0 ? 'claimed' : 'empty', took() / 1000, commands.length);
      options.onCommands(commands, max);
      if (commands.length > 0) return;
      if (options.idle !== undefined) await options.idle(signal);
      else if (took() < TOO_SOON_MS) await pause(CALM_MS, signal);
    } catch (error) {
      promised = 0;
      if (signal.aborted) return;
      failures += 1;
      metrics?.pulled('error', took() / 1000, 0);
      metrics?.reconnected('lease');
      const failure = describeFailure(error);
      const waitMs = backoffMs(failures, failure);
      options.onFailure(failure, waitMs);
      await pause(waitMs, signal);
    }
  };

  const run = async (): Promise<void> => {
    open = true;
    for (let max = options.freeSlots(); max > 0 && !signal.aborted; max = options.freeSlots()) {
      promised = max;
      await poll(max);
    }
    open = false;
  };

  return {
    get promised() {
      return promised;
    },
    poke() {
      if (!open && !signal.aborted) void run();
    },
  };
}
