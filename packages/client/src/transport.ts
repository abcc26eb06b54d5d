// One HTTP request: address, token, deadline, JSON in both directions, errors in the two kinds of errors.ts.
// Nothing is retried here: whether a request may be repeated is known only to the one who makes it.
import { isObject, type Json, parseJson, stringifyJson } from '@noetl/core';
import { ApiError, parseRetryAfter, UnreachableError } from './errors.js';

/** The part of `fetch` that is used: a platform with a cheaper way to send requests can bring its own. */
export type Fetch = (
  url: URL,
  init: { method: string; headers: Record<string, string>; signal: AbortSignal; body?: string },
) => Promise<Answer>;

export type Answer = Pick<Response, 'ok' | 'status' | 'statusText' | 'url' | 'body' | 'text'> & {
  readonly headers: Pick<Headers, 'get'>;
};

export interface TransportOptions {
  readonly baseUrl: string;
  readonly token?: string | undefined;
  readonly fetch?: Fetch | undefined;
  readonly timeoutMs?: number | undefined;
}

export type QueryValue = string | number | boolean | undefined;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  readonly body?: unknown;
  /** Sent as it is instead of a JSON body; needs the platform's own fetch. */
  readonly upload?: { readonly type: string; readonly chunks: AsyncIterable<Uint8Array> } | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Added to the usual timeout, for calls that the server may hold open. */
  readonly extraTimeMs?: number | undefined;
}

export interface Transport {
  /** The answer as JSON; `null` for an answer without a body. */
  json(call: Call): Promise<Json>;
  /** The open answer of a stream. The deadline covers its headers only; `signal`, made for this call, ends the rest. */
  open(call: Call): Promise<Answer>;
  /** The open answer, whatever it is made of. The deadline covers its headers only. */
  raw(call: Call): Promise<Answer>;
}

const JSON_TYPE = 'application/json';
const EVENT_STREAM = 'text/event-stream';
const ANYTHING = '*/*';
type AnswerKind = typeof JSON_TYPE | typeof EVENT_STREAM | typeof ANYTHING;

/** What the fetch of Node and of browsers takes as a body beyond text. */
type UploadingFetch = (
  url: URL,
  init: { method: string; headers: Record<string, string>; signal: AbortSignal; body: unknown; duplex: 'half' },
) => Promise<Answer>;

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_QUOTED_BODY = 300;

export function createTransport(options: TransportOptions): Transport {
  const base = checkedBase(options.baseUrl);
  checkToken(options.token);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const fetch: Fetch = options.fetch ?? globalThis.fetch;

  async function send<T>(
    call: Call,
    kind: AnswerKind,
    read: (response: Answer, url: string) => Promise<T>,
  ): Promise<T> {
    const url = addressOf(base, call);
    // What errors show. A query may hold what a person typed, and a path is enough to find the call.
    const shownUrl = url.origin + url.pathname;
    const headers = headersOf(call, kind, options.token);
    const body = call.body === undefined ? {} : { body: stringifyJson(call.body) };
    const deadline = startDeadline(timeoutMs + (call.extraTimeMs ?? 0), call.signal);
    try {
      const init = { method: call.method, headers, signal: deadline.signal };
      const response =
        call.upload === undefined
          ? await fetch(url, { ...init, ...body })
          : await (fetch as UploadingFetch)(url, { ...init, body: call.upload.chunks, duplex: 'half' });
      if (!response.ok) throw await errorOf(response, call.method, shownUrl);
      return await read(response, shownUrl);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      call.signal?.throwIfAborted();
      const timedOut = deadline.expired();
      const problem = timedOut ? 'no answer in time' : `cannot reach the server (${causeOf(error)})`;
      throw new UnreachableError({ problem, method: call.method, url: shownUrl, timedOut, cause: error });
    } finally {
      deadline.stopClock();
      // The body of a stream is still to be read, and the caller's signal has to be able to end that.
      if (kind === JSON_TYPE) deadline.detach();
    }
  }

  return {
    json: (call) => send(call, JSON_TYPE, (response, url) => readJson(response, call.method, url)),
    open: (call) => send(call, EVENT_STREAM, (response, url) => checkStream(response, call.method, url)),
    raw: (call) => send(call, ANYTHING, async (response) => response),
  };
}

/** Refuses at once what would fail on every call. */
function checkedBase(baseUrl: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    throw new TypeError('baseUrl must be an absolute http:// or https:// address');
  }
  // fetch refuses such addresses, and they end up in logs.
  if (base.username !== '' || base.password !== '')
    throw new TypeError('baseUrl must not hold a password: pass a token');
  return base;
}

/** Without this, the platform would refuse the header with a message that quotes the token. */
function checkToken(token: string | undefined): void {
  if (token !== undefined && !/^[\x21-\x7e]*$/.test(token)) {
    throw new TypeError('the token holds a space, a line break or another character that no HTTP header can carry');
  }
}

function addressOf(base: URL, { path, query }: Call): URL {
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/+$/, '') + path;
  url.search = '';
  url.hash = '';
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function headersOf(call: Call, accept: AnswerKind, token: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { accept };
  if (call.body !== undefined) headers['content-type'] = JSON_TYPE;
  if (call.upload !== undefined) headers['content-type'] = call.upload.type;
  if (token !== undefined && token !== '') headers['authorization'] = `Bearer ${token}`;
  for (const [name, value] of Object.entries(call.headers ?? {})) {
    if (value !== undefined) headers[name.toLowerCase()] = value;
  }
  return headers;
}

async function readJson(response: Answer, method: string, url: string): Promise<Json> {
  const text = await response.text();
  if (text === '') return null;
  try {
    return parseJson(text);
  } catch (error) {
    // Usually a proxy or another program that listens on this port.
    const problem = `the answer is not JSON: ${error instanceof Error ? error.message : error}`;
    throw new ApiError({ status: response.status, problem, code: 'invalid_response', body: quoted(text), method, url });
  }
}

async function checkStream(response: Answer, method: string, url: string): Promise<Answer> {
  const type = response.headers.get('content-type') ?? 'nothing';
  if (response.status === 204 || type.startsWith(EVENT_STREAM)) return response;
  await response.body?.cancel();
  const problem = `expected ${EVENT_STREAM}, got ${type}`;
  throw new ApiError({ status: response.status, problem, code: 'invalid_response', body: null, method, url });
}

async function errorOf(response: Answer, method: string, url: string): Promise<ApiError> {
  const text = await response.text();
  const body = parsedOrText(text);
  const fields = isObject(body) ? body : {};
  const problem = [fields['error'], fields['message'], fields['detail'], body].find(isText) ?? response.statusText;
  return new ApiError({
    status: response.status,
    problem: quoted(problem),
    code: isText(fields['code']) ? fields['code'] : undefined,
    body,
    method,
    url,
    retryAfterMs: parseRetryAfter(response.headers.get('retry-after'), Date.now()),
  });
}

function parsedOrText(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function quoted(text: string): string {
  return text.length > MAX_QUOTED_BODY ? `${text.slice(0, MAX_QUOTED_BODY)}…` : text;
}

/** fetch says only "fetch failed"; the reason a person needs (ECONNREFUSED) is one level down. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return cause.message || code || cause.name;
}

/** AbortSignal.any keeps listeners of long-lived signals alive in Node 20, so the two are joined by hand. */
function startDeadline(ms: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort();
  }, ms);
  const forward = () => controller.abort(caller?.reason);
  if (caller?.aborted) forward();
  caller?.addEventListener('abort', forward, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    stopClock: () => clearTimeout(timer),
    detach: () => caller?.removeEventListener('abort', forward),
  };
}
