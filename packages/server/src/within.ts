// Not waiting for ever for something that goes on by itself.

export class TooSlow extends Error {
  override readonly name = 'TooSlow';
}

/** Rejects with `TooSlow` when it takes longer. What was begun is not undone: it may still end well, and nobody hears of it. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooSlow(`no answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}
