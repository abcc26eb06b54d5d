// Every error the API answers with: one table of codes and statuses, one body `{"error","status"}` (plus `code`, and `detail` and
// `message` for clients of the reference that read those).
import { type JsonObject, JsonSyntaxError } from '@noetl/core';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

const STATUS = {
  malformed: 400,
  unauthorised: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  active_claim: 409,
  already_terminal: 409,
  stale_claim: 409,
  execution_cancelled: 409,
  idempotency_conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  internal: 500,
  unavailable: 503,
} as const;

export type ProblemCode = keyof typeof STATUS;

/** Thrown anywhere below a route; becomes the answer. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;

  constructor(
    readonly code: ProblemCode,
    message: string,
    /** Further fields of the body, for example `diagnostics`. */
    readonly extra: JsonObject = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = STATUS[code];
  }
}

export function problemBody(problem: ApiProblem): JsonObject {
  const { message } = problem;
  return {
    error: message,
    status: problem.status,
    code: problem.code,
    message,
    detail: { code: problem.code, message },
    ...problem.extra,
  };
}

/** More work is waiting than this server is willing to hold. */
export class OverloadedError extends Error {
  override readonly name = 'OverloadedError';
}

/** Turns whatever was thrown into a problem. Unknown errors keep their text out of the answer: it may hold data. */
export function toProblem(error: unknown, isTransient: (error: unknown) => boolean): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof JsonSyntaxError) return new ApiProblem('malformed', `The body is not JSON: ${error.message}`);
  const { statusCode, code, message, validation } = error as FastifyError;
  if (validation !== undefined) return new ApiProblem(statusCode === 422 ? 'invalid' : 'malformed', message);
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiProblem('too_large', 'The body is larger than this route takes; see docs/limits.md for the limits');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiProblem('unsupported_media_type', "Send 'Content-Type: application/json'");
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new ApiProblem('malformed', 'The body is empty; this route needs a JSON body, at least {}');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ApiProblem('malformed', 'The body does not have the length its Content-Length says');
  }
  if (error instanceof OverloadedError) return new ApiProblem('unavailable', error.message, {}, { 'retry-after': '1' });
  if (isTransient(error)) {
    return new ApiProblem(
      'unavailable',
      'The database is not reachable right now; nothing was lost, try again',
      {},
      { 'retry-after': '1' },
    );
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ApiProblem(statusCode === 404 ? 'not_found' : statusCode === 413 ? 'too_large' : 'malformed', message);
  }
  // SQLSTATE class 22: a value that no column can hold, such as U+0000 in a name or a number out of range.
  if (typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code)) {
    return new ApiProblem(
      'invalid',
      'The request holds a value that cannot be stored: U+0000 in a text, or a number or time out of range',
    );
  }
  return new ApiProblem('internal', 'Internal error; the server log has the details under this request id');
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: ApiProblem): FastifyReply {
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .type('application/json; charset=utf-8')
    .send({ ...problemBody(problem), request_id: request.id });
}
