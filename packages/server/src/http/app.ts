// The HTTP shell: lossless JSON in and out, one error shape, request ids, limits, and the OpenAPI document. Routes bring their own folders.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import swagger from '@fastify/swagger';
import { type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import { parseJson, stringifyJson } from '@noetl/core';
import {
  type ConnectionError,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  fastify,
  LogController,
  type RawServerDefault,
} from 'fastify';
import type { Logger } from 'pino';
import { ApiProblem, problemBody, sendProblem, toProblem } from '../errors.js';
import { type Access, guardAccess } from './access.js';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export interface AppOptions {
  readonly log: Logger;
  readonly version: string;
  readonly access: Access;
  isTransient(error: unknown): boolean;
  observe(method: string, route: string, code: number, seconds: number): void;
}

const BODY_LIMIT = 2 * 1024 * 1024;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export interface Shell {
  readonly app: App;
  /** Resolves when no request is being answered. */
  idle(): Promise<void>;
}

export async function createApp(options: AppOptions): Promise<Shell> {
  const app = fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
    },
    requestTimeout: 120_000,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 512 },
    // What fails before a route is found has the same shape.
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, toProblem(error, options.isTransient)),
    clientErrorHandler: refuseNonsense,
  }).withTypeProvider<TypeBoxTypeProvider>();

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'NoETL', description: 'Event-sourced workflow control plane', version: options.version },
    },
  });
  acceptJson(app);
  app.setValidatorCompiler(TypeBoxValidatorCompiler);
  app.setSerializerCompiler(() => stringifyJson);
  app.setReplySerializer((payload) => stringifyJson(payload));
  guardAccess(app, options.access);

  let underWay = 0;
  const waiting: (() => void)[] = [];
  app.addHook('onRequest', async (request, reply) => {
    underWay++;
    reply.raw.once('close', () => {
      underWay--;
      if (underWay === 0) for (const wake of waiting.splice(0)) wake();
    });
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unmatched';
    options.observe(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const problem = validationProblem(error) ?? toProblem(error, options.isTransient);
    if (problem.status >= 500)
      request.log.error({ err: error, req_id: request.id, url: request.url.split('?')[0] }, 'request failed');
    return sendProblem(request, reply, problem);
  });
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, notFound(app, request.method, request.url)));
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  return { app, idle: () => (underWay === 0 ? Promise.resolve() : new Promise((wake) => waiting.push(wake))) };
}

/** Numbers beyond 2^53 survive; a missing body is undefined and each route says whether it can do without. */
function acceptJson(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') return done(null, undefined);
    try {
      done(null, parseJson(body as string));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

/** Bytes that are not HTTP, or headers beyond the limit: there is no request yet, so the answer is written by hand. */
function refuseNonsense(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW';
  const body = stringifyJson(
    problemBody(new ApiProblem('malformed', tooLong ? 'The headers are too long' : 'This is not HTTP')),
  );
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\n\r\n${body}`);
}

function validationProblem(error: FastifyError): ApiProblem | undefined {
  const [first] = error.validation ?? [];
  if (first === undefined) return undefined;
  const field = first.instancePath.replace(/^\//, '').replaceAll('/', '.');
  const where = error.validationContext === 'body' ? 'body' : (error.validationContext ?? 'request');
  const message = `${field === '' ? `The ${where}` : `${where === 'body' ? 'field' : where} '${field}'`} ${first.message ?? 'is not valid'}`;
  return new ApiProblem(where === 'body' ? 'invalid' : 'malformed', message);
}

/** A path that exists under another method is 405, with the methods it takes. */
function notFound(app: App, method: string, url: string): ApiProblem {
  const path = url.split('?')[0] ?? '/';
  const allowed = METHODS.filter((other) => other !== method && app.findRoute({ method: other, url: path }) !== null);
  if (allowed.length === 0) return new ApiProblem('not_found', `There is no ${method} ${path.slice(0, 200)}`);
  return new ApiProblem(
    'method_not_allowed',
    `${path.slice(0, 200)} takes ${allowed.join(', ')}, not ${method}`,
    {},
    { allow: allowed.join(', ') },
  );
}
