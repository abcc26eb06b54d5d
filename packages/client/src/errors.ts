// Everything that can go wrong with a call, in two kinds: the server answered and said no (`ApiError`), or no usable
// answer arrived (`UnreachableError`). What must stay true: neither carries a token, a password or a query string.
import type { Json } from '@noetl/core';

/** The server answered with an error status, or with something that is not the JSON it promised. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Machine-readable reason, where the server gives one: `stale_claim`, `already_terminal`, … */
  readonly code: string | undefined;
  /** The body as JSON; a body that is not JSON as a string. */
  readonly body: Json;
  readonly method: string;
  readonly url: string;
  /** How long the server asked us to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(details: {
    status: number;
    problem: string;
    code?: string | undefined;
    body: Json;
    method: string;
    url: string;
    retryAfterMs?: number | undefined;
  }) {
    super(`${details.method} ${details.url}: ${details.problem} (HTTP ${details.status})`);
    this.status = details.status;
    this.code = details.code;
    this.body = details.body;
    this.method = details.method;
    this.url = details.url;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** No usable answer: connection refused or broken, name not found, time is up. Whether the server acted is unknown. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  readonly method: string;
  readonly url: string;
  readonly timedOut: boolean;

  constructor(details: { problem: string; method: string; url: string; timedOut?: boolean; cause?: unknown }) {
    super(`${details.method} ${details.url}: ${details.problem}`, { cause: details.cause });
    this.method = details.method;
    this.url = details.url;
    this.timedOut = details.timedOut ?? false;
  }
}

/** Answers that say "not now": the same request may succeed later. */
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

export function isRetryable(error: unknown): error is ApiError | UnreachableError {
  if (error instanceof UnreachableError) return true;
  return error instanceof ApiError && RETRYABLE_STATUS.has(error.status);
}

/** How long the server asked us to wait before the next try, if it did. */
export function retryAfterMs(error: unknown): number | undefined {
  return error instanceof ApiError ? error.retryAfterMs : undefined;
}

/** `Retry-After` is a number of seconds or an HTTP date. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
