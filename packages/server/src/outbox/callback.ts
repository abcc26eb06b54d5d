// Completion callbacks: who starts an execution may name a URL that hears of its end. The request is signed, so that the receiver can tell it
// from anybody else's, and it never reaches an address inside the network unless the operator allows that.
import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Json, stringifyJson } from '@noetl/core';
import { ApiProblem } from '../errors.js';
import { guardedLookup, insideAddress, notAllowed } from './egress.js';

export interface CallbackSettings {
  /** Undefined: callbacks are off, and a start that asks for one is refused. */
  readonly secret: string | undefined;
  /** Callbacks may go to loopback and private networks. */
  readonly allowPrivate: boolean;
}

const MAX_URL = 2_048;
const TIMEOUT_MS = 10_000;

/** Reads `callback_url` of a start request; undefined when there is none. */
export function readCallbackUrl(value: Json | undefined, settings: CallbackSettings): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const url = typeof value === 'string' && value.length <= MAX_URL && URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new ApiProblem('invalid', "field 'callback_url' must be an absolute http or https URL");
  }
  if (url.username !== '' || url.password !== '') {
    throw new ApiProblem('invalid', "field 'callback_url' must not hold a user or a password: callbacks are signed");
  }
  if (settings.secret === undefined) {
    throw new ApiProblem(
      'invalid',
      'callback_url needs NOETL_CALLBACK_SECRET on the server: callbacks are signed with it',
    );
  }
  if (!settings.allowPrivate && insideAddress(url.hostname)) {
    throw new ApiProblem(
      'invalid',
      `field 'callback_url' must not point into the network of the server: ${url.hostname}`,
    );
  }
  return url.href;
}

/** `t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<body>`. The time lets the receiver refuse what was recorded long ago. */
export function signatureOf(body: string, secret: string, unixSeconds: number): string {
  const mac = createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex');
  return `t=${unixSeconds},v1=${mac}`;
}

export interface Callback {
  readonly url: string;
  readonly payload: Json;
  /** The same for every attempt: the receiver can tell a repetition. */
  readonly deliveryId: string;
  readonly attempt: number;
}

/** Resolves when the receiver has answered with 2xx; anything else is an error. Redirects are not followed. */
export function sendCallback(callback: Callback, settings: CallbackSettings, unixSeconds: number): Promise<void> {
  const { secret } = settings;
  if (secret === undefined) return Promise.reject(new Error('NOETL_CALLBACK_SECRET is not set on this server'));
  const url = new URL(callback.url);
  // An address is never looked up, so it is checked here.
  if (!settings.allowPrivate && insideAddress(url.hostname)) return Promise.reject(notAllowed(url.hostname));
  const body = stringifyJson(callback.payload);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      {
        method: 'POST',
        agent: false,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(settings.allowPrivate ? {} : { lookup: guardedLookup }),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'noetl-server',
          'idempotency-key': callback.deliveryId,
          'x-noetl-delivery': callback.deliveryId,
          'x-noetl-attempt': String(callback.attempt),
          'x-noetl-signature': signatureOf(body, secret, unixSeconds),
        },
      },
      (response) => {
        // Nobody reads the answer; when it breaks off, that changes nothing.
        response.on('error', () => undefined).resume();
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve();
        else reject(new Error(`${url.host} answered ${statusCode}`));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
