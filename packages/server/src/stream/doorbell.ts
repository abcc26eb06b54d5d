// Waiting for news with a limit: somebody rings when something was committed, and whoever looks regularly looks sooner.
import { setTimeout as delay } from 'node:timers/promises';

/** Rings that come one after the other share a look. */
const GATHER_MS = 10;

export interface Doorbell {
  ring(): void;
  /** Forgets earlier rings: whoever looks now sees what they were about. */
  listen(): void;
  /** Waits for a ring since `listen`, a time, or the signal. */
  rung(ms: number, signal: AbortSignal): Promise<void>;
}

export function doorbell(): Doorbell {
  let rang = false;
  let answer: (() => void) | undefined;

  const wait = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        answer = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
      else answer = done;
    });

  return {
    ring() {
      rang = true;
      answer?.();
    },
    listen() {
      rang = false;
    },
    async rung(ms, signal) {
      if (!rang) await wait(ms, signal);
      if (rang) await delay(Math.min(ms, GATHER_MS), undefined, { signal }).catch(() => undefined);
    },
  };
}
