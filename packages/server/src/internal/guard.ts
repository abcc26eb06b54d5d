// The door to /api/internal: one guard for everything below that path, routes that do not exist included. Its token opens nothing else, and
// no other token opens it: system playbooks carry it, user playbooks do not.
import type { FastifyRequest } from 'fastify';
import { ApiProblem } from '../errors.js';
import { type App, sameSecret } from '../http/index.js';

export const INTERNAL_TOKEN = 'NOETL_INTERNAL_API_TOKEN';
const ROOT = '/api/internal';

/** @param expected reads the token anew for every request: a rotated secret needs no restart */
export function guardInternal(app: App, expected: () => string | undefined): void {
  app.addHook('onRequest', async (request) => {
    if (isInternal(request)) requireInternalToken(request.headers.authorization, expected());
  });
}

/**
 * By the route that was found, not by the text of the URL: `/api/%69nternal/…` finds the same route. Where none was found the text decides,
 * so that nobody without the token learns which paths exist.
 */
export function isInternal(request: FastifyRequest): boolean {
  const route = request.routeOptions.url;
  return isBelowRoot(route ?? decoded(request.url.split('?')[0] ?? ''));
}

function isBelowRoot(path: string): boolean {
  return path === ROOT || path.startsWith(`${ROOT}/`);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export function requireInternalToken(header: string | undefined, expected: string | undefined): void {
  const token = expected?.trim() ?? '';
  if (token === '') {
    throw new ApiProblem(
      'unavailable',
      `Internal API not configured: ${INTERNAL_TOKEN} is unset on the server. Set it to the token of the system worker pool before calling ${ROOT}/*`,
    );
  }
  if (header === undefined) {
    throw new ApiProblem('forbidden', 'Internal API requires an Authorization header with a Bearer token');
  }
  const space = header.indexOf(' ');
  const scheme = space < 0 ? header : header.slice(0, space);
  const given = space < 0 ? '' : header.slice(space + 1).trim();
  if (scheme.toLowerCase() !== 'bearer' || given === '') {
    throw new ApiProblem('forbidden', "Internal API requires the 'Bearer <token>' Authorization scheme");
  }
  if (!sameSecret(given, token)) throw new ApiProblem('forbidden', `Invalid token for ${ROOT}/*`);
}
