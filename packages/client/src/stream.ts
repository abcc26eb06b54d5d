// Follows one execution until it ends: server-sent events over fetch, with reconnects.
// What must stay true: a consumer sees every event once and in order, however often the connection breaks. The server
// continues after `Last-Event-ID`; the gap-free `stream_version` lets us drop what it may send twice.
import { type Json, parseJson } from '@noetl/core';
import type { ExecutionStatus, StreamMessage, WireEvent } from './api.js';
import { ApiError, isRetryable, retryAfterMs, UnreachableError } from './errors.js';
import { createSseParser, type SseMessage } from './sse.js';
import type { Answer, Transport } from './transport.js';

export interface StreamOptions {
  /** Continue after this event. */
  readonly lastEventId?: string | undefined;
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Reconnect when not even a keep-alive comment came for this long. */
  readonly idleTimeoutMs?: number | undefined;
  /** Pause before the first reconnect; it doubles with every try that brings nothing, up to `maxBackoffMs`. */
  readonly backoffMs?: number | undefined;
  readonly maxBackoffMs?: number | undefined;
}

const DEFAULT_IDLE_TIMEOUT_MS = 60_000;
const DEFAULT_BACKOFF_MS = 250;
const DEFAULT_MAX_BACKOFF_MS = 10_000;

const TERMINAL: ReadonlySet<ExecutionStatus> = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

export async function* streamExecution(
  transport: Transport,
  path: string,
  options: StreamOptions = {},
): AsyncGenerator<StreamMessage, void, undefined> {
  const { signal, backoffMs = DEFAULT_BACKOFF_MS, maxBackoffMs = DEFAULT_MAX_BACKOFF_MS } = options;
  const idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  let lastEventId = options.lastEventId;
  let lastVersion = 0;
  let fruitless = 0;
  let serverRetryMs: number | undefined;

  while (!signal?.aborted) {
    const connection = new AbortController();
    const hangUp = () => connection.abort();
    signal?.addEventListener('abort', hangUp, { once: true });
    let wait: number | undefined;
    try {
      const headers = { 'last-event-id': lastEventId };
      const response = await transport.open({ method: 'GET', path, headers, signal: connection.signal });
      // The server's way to say that there is nothing to come back for.
      if (response.status === 204) return;
      const parser = createSseParser();
      for await (const text of decodedChunks(response, idleTimeoutMs)) {
        const received = parser.push(text);
        serverRetryMs = parser.retryMs ?? serverRetryMs;
        for (const raw of received) {
          const message = toStreamMessage(raw, path);
          if (message === undefined) continue;
          fruitless = 0;
          if (message.id !== undefined && message.id !== '') lastEventId = message.id;
          if (message.event === 'event') {
            if (message.data.stream_version <= lastVersion) continue;
            lastVersion = message.data.stream_version;
          }
          yield message;
          if (message.event === 'status' && TERMINAL.has(message.data.status)) return;
        }
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isRetryable(error)) throw error;
      wait = retryAfterMs(error);
    } finally {
      signal?.removeEventListener('abort', hangUp);
      // Also when the consumer leaves the loop early: the connection must not outlive the iteration.
      hangUp();
    }
    wait ??= backoff(serverRetryMs ?? backoffMs, fruitless, maxBackoffMs);
    fruitless += 1;
    await pause(wait, signal);
  }
}

/** Text of the body as it arrives. A character cut in two by the network is put together again. */
async function* decodedChunks(response: Answer, idleTimeoutMs: number): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await withinIdleTime(reader.read(), idleTimeoutMs, response.url);
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (isRetryable(error)) throw error;
    throw new UnreachableError({
      problem: 'the stream broke off',
      method: 'GET',
      url: shown(response.url),
      cause: error,
    });
  } finally {
    // Not awaited: on a dead connection the promise may never settle, and there is nobody left to tell.
    reader.cancel().catch(() => {});
  }
}

async function withinIdleTime<T>(work: Promise<T>, ms: number, url: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new UnreachableError({ problem: 'the stream went silent', method: 'GET', url: shown(url), timedOut: true }),
      );
    }, ms);
  });
  try {
    return await Promise.race([work, idle]);
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined for names that this version does not know: a newer server may say more. */
function toStreamMessage(raw: SseMessage, path: string): StreamMessage | undefined {
  if (raw.event !== 'event' && raw.event !== 'status') return undefined;
  let data: Json;
  try {
    data = parseJson(raw.data);
  } catch (error) {
    const problem = `a stream message is not JSON: ${error instanceof Error ? error.message : error}`;
    throw new ApiError({ status: 200, problem, code: 'invalid_response', body: null, method: 'GET', url: path });
  }
  if (raw.event === 'event') {
    const event = data as unknown as WireEvent;
    return { event: 'event', id: raw.id ?? event.event_id, data: event };
  }
  const status = data as unknown as { execution_id: string; status: ExecutionStatus };
  return { event: 'status', ...(raw.id === undefined ? {} : { id: raw.id }), data: status };
}

/** Doubles with every fruitless try; the random half keeps a thousand consoles from returning in the same instant. */
function backoff(base: number, fruitless: number, max: number): number {
  const full = Math.min(max, base * 2 ** Math.min(fruitless, 16));
  return full / 2 + Math.random() * (full / 2);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

function shown(url: string): string {
  return url.replace(/[?#].*$/s, '');
}
