// How long a task waits before it is tried again. Pure: chance is handed in.

export type Backoff = 'none' | 'linear' | 'exponential' | 'constant';

export interface RetryDelay {
  readonly backoff: Backoff;
  readonly delaySeconds: number;
  /** 1 for the first retry, that is the second execution. */
  readonly retry: number;
  /** What the target asked for. It is a floor: trying earlier would only be refused again. */
  readonly retryAfterSeconds?: number | undefined;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

export const LONGEST_DELAY_MS = 300_000;
const JITTER = 0.2;

export function retryDelayMs(request: RetryDelay): number {
  const planned = plannedSeconds(request) * spread(request);
  const seconds = Math.max(planned, request.retryAfterSeconds ?? 0);
  return Math.min(Math.round(seconds * 1000), LONGEST_DELAY_MS);
}

function plannedSeconds({ backoff, delaySeconds, retry }: RetryDelay): number {
  switch (backoff) {
    case 'none':
      return 0;
    case 'linear':
      return delaySeconds * retry;
    case 'exponential':
      // Far beyond the cap already; a larger power would be Infinity, and Infinity times a delay of 0 is not a number.
      return delaySeconds * 2 ** Math.min(retry - 1, 64);
    case 'constant':
      return delaySeconds;
  }
}

/** Only a growing delay is spread: who writes a constant or linear one may be counting on it. */
function spread({ backoff, random }: RetryDelay): number {
  return backoff === 'exponential' ? 1 - JITTER + 2 * JITTER * random() : 1;
}
