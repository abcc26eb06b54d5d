// Work that comes round: never twice at once, never stopped by an error, and gone when it is told to stop.

export interface Periodic {
  /** Runs at the next opportunity instead of at the next interval. */
  soon(): void;
  /** Resolves when the run in progress, if any, has ended. */
  stop(): Promise<void>;
}

export function every(intervalMs: number, work: () => Promise<unknown>, onError: (error: unknown) => void): Periodic {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> | undefined;
  let stopped = false;
  let again = false;

  const plan = (delay: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(run, delay);
  };
  const run = () => {
    running = work()
      .catch(onError)
      .finally(() => {
        running = undefined;
        plan(again ? 0 : intervalMs);
        again = false;
      });
  };
  plan(intervalMs);
  return {
    soon() {
      if (running === undefined) plan(0);
      else again = true;
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Several as one: each goes at its own pace, so that one which hangs does not hold up the others. */
export function together(parts: readonly Periodic[]): Periodic {
  return {
    soon() {
      for (const part of parts) part.soon();
    },
    async stop() {
      await Promise.all(parts.map((part) => part.stop()));
    },
  };
}
