// Durations as people write and read them: `30s`, `5m`, `1.5h`, or plain seconds in; `0.42s`, `3m 05s` out.
import { usageError } from './errors.js';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// Node's timers overflow above this and then fire at once.
const LONGEST_MS = 2_147_483_647;

/** In milliseconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(text.trim());
  const milliseconds = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? 's'] ?? Number.NaN);
  if (match === null || !(milliseconds > 0)) {
    throw usageError(`"${text}" is not a duration.`, 'Write 30s, 5m, 1.5h, or a number of seconds greater than zero.');
  }
  if (milliseconds > LONGEST_MS) throw usageError(`"${text}" is too long.`, 'The longest is 24d.');
  return Math.round(milliseconds);
}

export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)}s`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1_000);
  const pad = (value: number) => String(value).padStart(2, '0');
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`;
  return `${Math.floor(seconds / 3_600)}h ${pad(Math.floor(seconds / 60) % 60)}m`;
}
