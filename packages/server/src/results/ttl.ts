// How long a result is kept, as authors and clients write it: `30s`, `15m`, `1h`, `2d`, `1w`, `1y`, a number of seconds, or `forever`.
import type { Json } from '@noetl/core';
import { ApiProblem } from '../errors.js';

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 };
const FOR_EVER: ReadonlySet<string> = new Set(['', 'forever', 'permanent', '-1']);
/** Ten centuries: more is a mistake, and far more is beyond what the database can add to a time. */
const LONGEST = 1_000 * 31_536_000;

/** Seconds; null means for ever. */
export function readTtl(value: Json | undefined): number | null {
  const text = value === undefined || value === null ? '' : String(value).trim().toLowerCase();
  if (FOR_EVER.has(text)) return null;
  const [, digits, unit = ''] = /^(\d+)([smhdwy]?)$/.exec(text) ?? [];
  const seconds = Number(digits) * (SECONDS[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= LONGEST) return seconds;
  throw new ApiProblem(
    'invalid',
    `ttl '${text}' must be like 30s, 15m, 1h, 2d, 1w, 1y, a number of seconds, or forever`,
  );
}
