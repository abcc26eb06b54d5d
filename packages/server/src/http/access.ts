// Who may call. Without a token the server listens on loopback only, and a browser page of another site must not be able to use that:
// requests must name a loopback host, and must not come from a foreign origin. With a token every /api route needs it.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ApiProblem } from '../errors.js';
import type { App } from './app.js';

export interface Access {
  /** Bearer token for /api; undefined: no login. */
  readonly token: string | undefined;
  /** Only loopback names are accepted in Host. Off when the operator chose to listen elsewhere. */
  readonly loopbackOnly: boolean;
  /** Requests that need a token of their own, which another guard asks for. */
  isGuardedElsewhere?(request: FastifyRequest): boolean;
}

const PUBLIC = new Set(['/health', '/api/health']);

export function guardAccess(app: App, access: Access): void {
  app.addHook('onRequest', async (request) => {
    if (access.loopbackOnly) refuseForeignPages(request);
    const path = request.url.split('?')[0] ?? '';
    if (access.isGuardedElsewhere?.(request) === true) return;
    if (access.token !== undefined && !PUBLIC.has(path)) requireToken(request, access.token);
  });
}

/** A page on evil.example can make a browser send requests here (by name, through DNS rebinding, or across origins). */
function refuseForeignPages(request: FastifyRequest): void {
  if (!isLoopbackName(request.hostname)) {
    throw new ApiProblem(
      'forbidden',
      `Host '${request.hostname}' is not this machine; call the server as 127.0.0.1 or localhost`,
    );
  }
  const { origin } = request.headers;
  if (origin === undefined) return;
  const foreign = !URL.canParse(origin) || new URL(origin).host !== request.host;
  if (foreign) throw new ApiProblem('forbidden', `Requests from the origin '${origin}' are not allowed`);
}

function requireToken(request: FastifyRequest, token: string): void {
  const [scheme, given] = (request.headers.authorization ?? '').split(/\s+/, 2);
  if (scheme?.toLowerCase() !== 'bearer' || !given) {
    throw new ApiProblem(
      'unauthorised',
      "This server needs a token: send 'Authorization: Bearer <NOETL_API_TOKEN>'",
      {},
      { 'www-authenticate': 'Bearer' },
    );
  }
  if (!sameSecret(given, token))
    throw new ApiProblem('unauthorised', 'The token is not valid', {}, { 'www-authenticate': 'Bearer' });
}

/** Hashing first makes the lengths equal, so the comparison takes the same time whatever is sent. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

export function isLoopbackName(name: string): boolean {
  const host = name.toLowerCase().replace(/^\[|\]$/g, '');
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
