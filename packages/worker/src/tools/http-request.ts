// Turns an http step's configuration into one request: URL with its query, headers, body. Pure; the network is in http.ts.
import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '@noetl/core';
import { booleanOf, firstOf, optionalText, secondsToMs, textOf } from './config.js';
import { configurationError } from './errors.js';

export type ResponseType = 'auto' | 'json' | 'text' | 'binary';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names of the headers that carry a credential: they stay with the origin they were meant for. */
  readonly secretHeaders: readonly string[];
  readonly body?: string;
  readonly timeoutMs: number;
  readonly connectTimeoutMs?: number;
  readonly followRedirects: boolean;
  readonly verifyTls: boolean;
  readonly responseType: ResponseType;
}

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
const DATA_IS_QUERY = new Set(['GET', 'DELETE', 'HEAD', 'OPTIONS']);
const RESPONSE_TYPES = new Set<string>(['auto', 'json', 'text', 'binary']);
const FORM = 'application/x-www-form-urlencoded';
const DEFAULT_TIMEOUT_MS = 60_000;
const SHORTEST_TIMEOUT_MS = 100;

export function buildRequest(config: JsonObject, commandId: string, timeoutMs: number | undefined): HttpRequest {
  const method = (optionalText('http', config, 'method') ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw configurationError('http', `unknown method '${method}'`);
  const { query, content } = splitData(config['data'], method);
  const url = urlOf(config, [config['params'], query]);
  const headers = headersOf(config['headers']);
  const secretHeaders = ['authorization', 'cookie', ...applyAuth(config['auth'], headers)];
  const body = bodyOf(config, content, headers['content-type']);
  if (body?.type !== undefined) headers['content-type'] ??= body.type;
  headers['idempotency-key'] ??= commandId;
  headers['accept'] ??= '*/*';
  headers['user-agent'] ??= 'noetl-worker';
  headers['accept-encoding'] ??= 'gzip, deflate, br';
  return {
    method,
    url,
    headers,
    secretHeaders,
    ...(body === undefined ? {} : { body: body.text }),
    ...timeoutsOf(config, timeoutMs),
    followRedirects: booleanOf('http', config, true, 'follow_redirects'),
    verifyTls: booleanOf('http', config, true, 'verify_ssl', 'verify'),
    responseType: responseTypeOf(config),
  };
}

function urlOf(config: JsonObject, queries: readonly (Json | undefined)[]): URL {
  const text = optionalText('http', config, 'url', 'endpoint');
  if (text === undefined || text.trim() === '') throw configurationError('http', 'url is required');
  if (!URL.canParse(text.trim())) throw configurationError('http', `'${text}' is not an absolute URL`);
  const url = new URL(text.trim());
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw configurationError('http', `only http and https URLs can be called, not ${url.protocol}`);
  }
  for (const query of queries) {
    for (const [name, value] of pairsOf('params', query)) url.searchParams.append(name, value);
  }
  return url;
}

/** Name and text of each entry; a list repeats its name, null entries are dropped. */
function pairsOf(what: string, value: Json | undefined): [string, string][] {
  if (value === undefined || value === null || value === '') return [];
  if (!isObject(value)) throw configurationError('http', `${what} must be a mapping`);
  return Object.entries(value).flatMap(([name, entry]) =>
    (Array.isArray(entry) ? entry : [entry])
      .filter((item) => item !== null)
      .map((item): [string, string] => [name, textOf(item, stringifyJson)]),
  );
}

function headersOf(value: Json | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, text] of pairsOf('headers', value)) {
    const key = name.toLowerCase();
    headers[key] = headers[key] === undefined ? text : `${headers[key]}, ${text}`;
  }
  return headers;
}

/** Adds the credential to `headers` unless the author wrote that header; answers which headers hold secrets. */
function applyAuth(auth: Json | undefined, headers: Record<string, string>): string[] {
  if (auth === undefined || auth === null) return [];
  // Sending the request without its credential would be worse than not sending it.
  if (!isObject(auth)) throw configurationError('http', `credential '${String(auth)}' was not resolved`);
  const text = (...keys: string[]): string => {
    const value = optionalText('http', auth, ...keys);
    if (value === undefined) throw configurationError('http', `auth needs ${keys[0]}`);
    return value;
  };
  const type = optionalText('http', auth, 'type') ?? 'bearer';
  switch (type) {
    case 'none':
      return [];
    case 'bearer':
      headers['authorization'] ??= `Bearer ${text('token', 'access_token', 'credential')}`;
      return [];
    case 'basic': {
      const pair = `${text('username', 'user')}:${text('password')}`;
      headers['authorization'] ??= `Basic ${Buffer.from(pair).toString('base64')}`;
      return [];
    }
    case 'api_key': {
      const name = (optionalText('http', auth, 'header') ?? 'X-API-Key').toLowerCase();
      headers[name] ??= text('token', 'api_key', 'key', 'credential');
      return [name];
    }
    case 'header': {
      const given = headersOf(auth['headers']);
      for (const [name, value] of Object.entries(given)) headers[name] ??= value;
      return Object.keys(given);
    }
    default:
      throw configurationError('http', `unknown auth type '${type}'`);
  }
}

/** `data` is a query for a method without a body and a JSON body otherwise, unless it says itself which is which. */
function splitData(data: Json | undefined, method: string): { query?: Json; content?: Json } {
  if (data === undefined || data === null) return {};
  if (isObject(data)) {
    const keys = Object.keys(data);
    if (keys.length > 0 && keys.every((key) => key === 'query' || key === 'body')) {
      const { query, body } = data;
      return { ...(query === undefined ? {} : { query }), ...(body === undefined ? {} : { content: body }) };
    }
    return DATA_IS_QUERY.has(method) ? { query: data } : { content: data };
  }
  return { content: data };
}

function bodyOf(
  config: JsonObject,
  dataContent: Json | undefined,
  contentType: string | undefined,
): { text: string; type?: string } | undefined {
  const json = firstOf(config, 'json');
  if (json !== undefined) return { text: stringifyJson(json), type: 'application/json' };
  const form = firstOf(config, 'form');
  if (form !== undefined) return { text: formText(form), type: FORM };
  const content = firstOf(config, 'body', 'payload') ?? dataContent;
  if (content === undefined || content === null) return undefined;
  if (typeof content === 'string')
    return { text: content, type: looksLikeJson(content) ? 'application/json' : 'text/plain' };
  if (isObject(content) && contentType?.toLowerCase().startsWith(FORM)) return { text: formText(content) };
  return { text: stringifyJson(content), type: 'application/json' };
}

function formText(form: Json): string {
  if (typeof form === 'string') return form;
  return new URLSearchParams(pairsOf('form', form)).toString();
}

/** A template that ends in `| tojson` yields text, but means a JSON body. */
function looksLikeJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}

function timeoutsOf(
  config: JsonObject,
  declaredMs: number | undefined,
): Pick<HttpRequest, 'timeoutMs' | 'connectTimeoutMs'> {
  const spec = config['spec'];
  const phases = [config['timeout'], isObject(spec) ? spec['timeout'] : undefined].find(isObject) ?? {};
  const single = isObject(spec) ? secondsToMs(spec['timeout']) : undefined;
  const connectTimeoutMs = secondsToMs(phases['connect']);
  const wanted = declaredMs ?? single ?? secondsToMs(phases['read']) ?? DEFAULT_TIMEOUT_MS;
  return {
    timeoutMs: Math.max(SHORTEST_TIMEOUT_MS, wanted),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
  };
}

function responseTypeOf(config: JsonObject): ResponseType {
  const type = optionalText('http', config, 'response_type') ?? 'auto';
  if (!RESPONSE_TYPES.has(type)) throw configurationError('http', `unknown response_type '${type}'`);
  return type as ResponseType;
}
