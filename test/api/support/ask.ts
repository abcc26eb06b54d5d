// One HTTP exchange as it is on the wire: any method, any header, any bytes. Answers are read without losing digits.
import { type IncomingHttpHeaders, request } from 'node:http';
import { type Json, type JsonObject, parseJson, stringifyJson } from '../../../packages/core/src/index.js';

export interface Asking {
  readonly headers?: Readonly<Record<string, string>>;
  /** A value is sent as JSON; `text` is sent as it is. */
  readonly json?: unknown;
  readonly text?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as an object; `{}` when it is not one. */
  readonly body: JsonObject;
  readonly list: Json[];
}

export function ask(base: string, method: string, path: string, asking: Asking = {}): Promise<Answer> {
  const { json, text = json === undefined ? undefined : stringifyJson(json) } = asking;
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { ...asking.headers };
    if (text !== undefined) headers['content-length'] = String(Buffer.byteLength(text));
    if (json !== undefined) headers['content-type'] ??= 'application/json';
    const url = new URL(base);
    const sent = request({ host: url.hostname, port: url.port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks))));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

export const post = (
  base: string,
  path: string,
  json: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> => ask(base, 'POST', path, { json, headers });

export const get = (base: string, path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(base, 'GET', path, { headers });

function answerOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  let parsed: Json = null;
  if (/^application\/json\b/.test(headers['content-type'] ?? '') && text !== '') parsed = parseJson(text);
  const isList = Array.isArray(parsed);
  return {
    status,
    headers,
    text,
    body: typeof parsed === 'object' && parsed !== null && !isList ? (parsed as JsonObject) : {},
    list: isList ? (parsed as Json[]) : [],
  };
}
