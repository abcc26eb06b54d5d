// Times and durations as authors write them. Pure arithmetic: what time it is comes from outside.
import type { Json } from '../json/types.js';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(?:\s*\d+(?:\.\d+)?\s*(?:ms|s|m|h|d))+\s*$/i;
/** A hundred years: beyond it dates stop being dates. */
const MAX_MS = 100 * 365 * 86_400_000;

/** Seconds as a number or its text, or parts like `1h30m`. Undefined: not a duration. */
export function parseDurationMs(value: Json): number | undefined {
  if (typeof value === 'number') return bounded(value * 1_000);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return bounded(Number(text) * 1_000);
  if (!DURATION.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/gi))
    ms += Number(amount) * (UNITS[(unit ?? 's').toLowerCase()] ?? 0);
  return bounded(ms);
}

function bounded(ms: number): number | undefined {
  return Number.isFinite(ms) && ms >= 0 && ms <= MAX_MS ? Math.round(ms) : undefined;
}

const TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?$/i;

/** An ISO time, UTC unless it names a zone. */
export function parseTime(value: Json): string | undefined {
  if (typeof value !== 'string' || !TIME.test(value.trim())) return undefined;
  const text = value.trim().replace(' ', 'T');
  const zoned = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) && text.includes('T');
  const ms = Date.parse(zoned ? text : text.includes('T') ? `${text}Z` : `${text}T00:00:00Z`);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

export function addMs(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}

export function isDue(dueAt: string, now: string): boolean {
  return Date.parse(dueAt) <= Date.parse(now);
}
