// Calls an HTTP endpoint. Every request carries the command id as `Idempotency-Key`, so a target that honours it sees a
// repeated attempt as the same one. Redirects are followed here, not by the library: each hop passes the egress check and
// a credential never leaves its origin.
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type Json, type JsonObject, parseJson } from '@noetl/core';
import { Agent, type Dispatcher, request as send } from 'undici';
import { type Egress, guardedLookup, isAllowedAddress, literalAddress, refusal } from './egress.js';
import { configurationError, connectionError, type ErrorInfo, httpError } from './errors.js';
import { buildRequest, type HttpRequest, type ResponseType } from './http-request.js';
import { type Tool, type ToolCall, type ToolResult, timedOut } from './tool.js';

export interface HttpOptions {
  readonly egress?: Egress;
  readonly maxResponseBytes?: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly url: URL;
  readonly body: Buffer;
}

interface Limits {
  readonly egress: Egress;
  readonly maxBytes: number;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
const HIDDEN_HEADERS = new Set(['set-cookie', 'set-cookie2', 'authorization', 'proxy-authorization']);

export function createHttpTool(options: HttpOptions = {}): Tool {
  const limits: Limits = { egress: options.egress ?? 'any', maxBytes: options.maxResponseBytes ?? MAX_RESPONSE_BYTES };
  const agents = agentPool(limits.egress);
  return {
    kind: 'http',
    async run(call) {
      const request = buildRequest(call.config, call.idempotencyKey ?? call.commandId, call.timeoutMs);
      const deadline = AbortSignal.timeout(request.timeoutMs);
      const signal = AbortSignal.any([call.signal, deadline]);
      const startedAt = performance.now();
      try {
        const answer = await follow(request, agents(request), limits, signal);
        return resultOf(answer, request.responseType, performance.now() - startedAt);
      } catch (error) {
        return failureOf(error, call, deadline, request.timeoutMs);
      }
    },
  };
}

/** Connection settings belong to an agent; there are few different ones, and each keeps its connections warm. */
function agentPool(egress: Egress): (request: HttpRequest) => Agent {
  const agents = new Map<string, Agent>();
  return ({ verifyTls, connectTimeoutMs = CONNECT_TIMEOUT_MS }) => {
    const key = `${verifyTls} ${connectTimeoutMs}`;
    const known = agents.get(key);
    if (known !== undefined) return known;
    const agent = new Agent({
      connect: { timeout: connectTimeoutMs, rejectUnauthorized: verifyTls, lookup: guardedLookup(egress) },
      // The step's own time-out covers the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    agents.set(key, agent);
    return agent;
  };
}

async function follow(request: HttpRequest, agent: Agent, limits: Limits, signal: AbortSignal): Promise<Answer> {
  let { method, url, body } = request;
  let headers: Record<string, string> = { ...request.headers };
  for (let hop = 0; ; hop += 1) {
    const literal = literalAddress(url.hostname);
    if (literal !== undefined && !isAllowedAddress(literal, limits.egress)) throw refusal(url.hostname);
    const response = await send(url, {
      dispatcher: agent,
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      signal,
    });
    const target =
      request.followRedirects && REDIRECTS.has(response.statusCode) ? redirectTarget(response, url) : undefined;
    if (target === undefined) {
      const received = await readBody(response, limits.maxBytes);
      return { status: response.statusCode, headers: response.headers, url, body: received };
    }
    await response.body.dump();
    if (hop === MAX_REDIRECTS) throw new RequestFailure(`more than ${MAX_REDIRECTS} redirects`, 'TOO_MANY_REDIRECTS');
    if (response.statusCode === 303 ? method !== 'HEAD' : response.statusCode <= 302 && method === 'POST') {
      method = 'GET';
      body = undefined;
      headers = omit(headers, ['content-type', 'content-length']);
    }
    if (target.origin !== url.origin) headers = omit(headers, [...request.secretHeaders, 'host']);
    url = target;
  }
}

function redirectTarget(response: Dispatcher.ResponseData, from: URL): URL | undefined {
  const location = response.headers['location'];
  const text = Array.isArray(location) ? location[0] : location;
  if (text === undefined || !URL.canParse(text, from.href)) return undefined;
  const target = new URL(text, from);
  return target.protocol === 'http:' || target.protocol === 'https:' ? target : undefined;
}

/** A failure that is neither the network's nor the server's. */
class RequestFailure extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.name = 'RequestFailure';
    this.code = code;
  }
}

async function readBody(response: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The limit is on what is unpacked, so that a small compressed bomb is refused too.
  for await (const chunk of decoded(response)) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > maxBytes) {
      response.body.destroy();
      throw new RequestFailure(`response too large (more than ${maxBytes} bytes)`, 'RESPONSE_TOO_LARGE');
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function decoded(response: Dispatcher.ResponseData): Readable {
  const encoding = String(response.headers['content-encoding'] ?? '').toLowerCase();
  const unpack =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'deflate'
        ? createInflate()
        : encoding === 'br'
          ? createBrotliDecompress()
          : undefined;
  if (unpack === undefined) return response.body;
  response.body.on('error', (error) => unpack.destroy(error));
  return response.body.pipe(unpack);
}

function resultOf(answer: Answer, responseType: ResponseType, elapsedMs: number): ToolResult {
  const headers = visibleHeaders(answer.headers);
  const content = contentOf(answer.body, headers['content-type'] ?? '', responseType);
  const data: JsonObject = {
    status_code: answer.status,
    headers,
    url: withoutUserInfo(answer.url),
    elapsed: Math.round(elapsedMs) / 1000,
    data: content,
    body: content,
  };
  const duration = Math.round(elapsedMs);
  if (answer.status >= 200 && answer.status < 300) {
    return { status: 'success', data, exit_code: 0, duration_ms: duration };
  }
  const error = `HTTP ${answer.status} response`;
  const info = httpError(answer.status, error, retryAfterSeconds(headers['retry-after']));
  return { status: 'error', error, error_info: info, data, exit_code: 1, duration_ms: duration };
}

function visibleHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    visible[name] = HIDDEN_HEADERS.has(name) ? '[REDACTED]' : Array.isArray(value) ? value.join(', ') : value;
  }
  return visible;
}

function contentOf(body: Buffer, contentType: string, responseType: ResponseType): Json {
  if (responseType === 'binary') return { base64: body.toString('base64'), size: body.length };
  const text = body.toString('utf8');
  if (responseType === 'text') return text;
  const declared = responseType === 'json' || /[/+]json\b/i.test(contentType);
  if (declared && text.trim() === '') return null;
  if (!declared && !/^\s*[[{]/.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Seconds, whether the header holds a number of them or a date. */
function retryAfterSeconds(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

function failureOf(error: unknown, call: ToolCall, deadline: AbortSignal, timeoutMs: number): ToolResult {
  // The runtime knows why it aborted; the result of an aborted call is not looked at.
  if (call.signal.aborted) throw call.signal.reason;
  if (deadline.aborted)
    return timedOut(timeoutMs, connectionError('ETIMEDOUT', `no complete answer within ${timeoutMs} ms`, 'http'));
  const detail = error instanceof Error ? innermost(error).message : String(error);
  const message = `HTTP error: ${detail}`;
  return { status: 'error', error: message, error_info: explain(error, message), exit_code: 1 };
}

function explain(error: unknown, message: string): ErrorInfo {
  const cause = error instanceof Error ? innermost(error) : undefined;
  const code = cause !== undefined && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  if (code === 'UND_ERR_INVALID_ARG') return configurationError('http', message).info;
  if (cause instanceof RequestFailure || code === 'EGRESS_DENIED') {
    return { kind: 'client_error', retryable: false, code: code ?? 'HTTP_REQUEST_FAILED', message, source: 'http' };
  }
  return connectionError(code, message, 'http');
}

/** undici and `Happy Eyeballs` wrap what happened; the first cause is what the reader wants. */
function innermost(error: Error): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return innermost(error.errors[0]);
  return error.cause instanceof Error ? innermost(error.cause) : error;
}

function withoutUserInfo(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}

function omit(headers: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
