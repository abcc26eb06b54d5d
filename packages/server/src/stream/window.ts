// Publishing with acknowledgements in flight: JetStream answers each message, but nobody waits for one answer before the next message.
// What is unanswered is bounded, in messages and in bytes; the first failure stops everything that waits.

export interface PublishWindow {
  /** Whether a message of this size must wait for room. */
  isFull(bytes: number): boolean;
  /** Waits until there is plenty of room, or something has failed: many messages that go at once share a write to the network. */
  room(): Promise<void>;
  /** Counts a message that is on its way. */
  add(bytes: number, acknowledged: Promise<unknown>): void;
  /** Resolves when everything that was added before this call is acknowledged. Rejects when anything has failed. */
  acknowledged(): Promise<void>;
}

export function publishWindow(limit: { readonly messages: number; readonly bytes: number }): PublishWindow {
  let messages = 0;
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;
  let added: Promise<void>[] = [];

  const isHalfEmpty = () => messages <= limit.messages / 2 && bytes <= limit.bytes / 2;

  const settle = async (size: number, acknowledged: Promise<unknown>) => {
    try {
      await acknowledged;
    } catch (error) {
      failure ??= { error };
    }
    messages--;
    bytes -= size;
    if (failure !== undefined || isHalfEmpty()) wake?.();
  };

  return {
    // A message larger than the whole window goes alone. After a failure `room` says what happened.
    isFull: (size) =>
      failure !== undefined || messages >= limit.messages || (messages > 0 && bytes + size > limit.bytes),
    async room() {
      if (failure === undefined && !isHalfEmpty()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
      if (failure !== undefined) throw failure.error;
    },
    add(size, acknowledged) {
      messages++;
      bytes += size;
      added.push(settle(size, acknowledged));
    },
    async acknowledged() {
      const waiting = added;
      added = [];
      await Promise.all(waiting);
      if (failure !== undefined) throw failure.error;
    },
  };
}
