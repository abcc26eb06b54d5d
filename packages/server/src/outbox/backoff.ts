// How long a row waits after a failure: 1, 2, 4 … 256 seconds, never more than the caller wants.

const MAX_DOUBLINGS = 8;
const MAX_ERROR_CHARACTERS = 2_000;

export function backoffSeconds(attempts: number, maxDelaySeconds: number): number {
  const doublings = Math.min(MAX_DOUBLINGS, Math.max(0, attempts - 1));
  return Math.max(0, Math.min(maxDelaySeconds, 2 ** doublings));
}

/** Cut at whole characters; U+0000 is the one character a text column refuses. */
export function storableError(error: string): string {
  return Array.from(error).slice(0, MAX_ERROR_CHARACTERS).join('').replaceAll('\0', '\u{fffd}');
}
