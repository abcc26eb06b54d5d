// Ctrl-C, asked politely once and forced the second time. Handlers are installed only while somebody waits, so a command
// without its own clean-up still dies at the first Ctrl-C.

export interface Interrupt {
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly dispose: () => void;
}

/** @param onForce runs at the second signal, just before the process ends */
export function catchInterrupt(onForce: () => void, target: NodeJS.Process = process): Interrupt {
  const controller = new AbortController();
  const handler = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      controller.abort(name);
      return;
    }
    onForce();
    target.exit(name === 'SIGINT' ? 130 : 143);
  };
  target.on('SIGINT', handler);
  target.on('SIGTERM', handler);
  return {
    signal: controller.signal,
    dispose: () => {
      target.off('SIGINT', handler);
      target.off('SIGTERM', handler);
    },
  };
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((settle) => signal.addEventListener('abort', () => settle(), { once: true }));
}
