// Waiting between attempts when the control plane is away: 100 ms doubling to 5 s, half of it random, so that a
// fleet of workers does not return in one wave. `Retry-After` is a floor, never shortened.
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiFailure, describeFailure } from './api.js';

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

export function backoffMs(failures: number, failure: ApiFailure, random: () => number = Math.random): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  const jittered = ceiling / 2 + (ceiling / 2) * random();
  return Math.max(jittered, failure.retryAfterMs ?? 0);
}

/** Resolves early, without an error, when the signal fires. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/** Runs `attempt` until it succeeds, `giveUp` says the failure is final (then it is thrown), or the signal fires. */
export async function persist<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal,
  onFailure: (failure: ApiFailure, failures: number) => void,
  giveUp: (failure: ApiFailure) => boolean = () => false,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const failure = describeFailure(error);
      if (giveUp(failure)) throw error;
      onFailure(failure, failures);
      await pause(backoffMs(failures, failure), signal);
    }
  }
}
