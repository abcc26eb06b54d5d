// The typed client of the HTTP API: one method per route, nothing but naming the route and its types.
// The worker, the CLI and the console speak to the control plane through this and nothing else.
import { isObject, type JsonObject } from '@noetl/core';
import type {
  CancelResponse,
  CatalogEntry,
  EventPage,
  ExecuteRequest,
  ExecuteResponse,
  ExecutionSummary,
  ExplainResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  LeaseRequest,
  LeaseResponse,
  RegisterResponse,
  RegisterWorkerRequest,
  ReleaseRequest,
  ReportRequest,
  ReportResponse,
  ResultResponse,
  StatusResponse,
  StreamMessage,
} from './api.js';
import { ApiError } from './errors.js';
import type {
  Acknowledgement,
  CancellationCheckResponse,
  CancelRequest,
  CatalogArchiveRequest,
  CatalogDeleteResponse,
  CatalogListQuery,
  CatalogListResponse,
  CatalogResourceQuery,
  CatalogRestoreResponse,
  EventsQuery,
  ExecuteBatchResponse,
  ExecutionDetail,
  ExecutionQuery,
  FinalizeRequest,
  FinalizeResponse,
  HealthResponse,
  ListExecutionsQuery,
  RegisterWorkerResponse,
  ValidateResponse,
} from './shapes.js';
import { type StreamOptions, streamExecution } from './stream.js';
import { type Call, createTransport, type TransportOptions } from './transport.js';

export type ClientOptions = TransportOptions;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ExecuteOptions extends CallOptions {
  /** Repeating the call with the same key starts nothing twice. */
  readonly idempotencyKey?: string | undefined;
}

/** Every method rejects with `ApiError` or `UnreachableError`, or with the signal's reason when the caller aborts. */
export interface NoetlClient {
  register(content: string, resourceType?: string, options?: CallOptions): Promise<RegisterResponse>;
  catalogList(query?: CatalogListQuery, options?: CallOptions): Promise<CatalogListResponse>;
  catalogResource(query: CatalogResourceQuery, options?: CallOptions): Promise<CatalogEntry>;
  catalogDelete(request: CatalogArchiveRequest, options?: CallOptions): Promise<CatalogDeleteResponse>;
  catalogRestore(request: CatalogArchiveRequest, options?: CallOptions): Promise<CatalogRestoreResponse>;
  validate(content: string, options?: CallOptions): Promise<ValidateResponse>;

  execute(request: ExecuteRequest, options?: ExecuteOptions): Promise<ExecuteResponse>;
  executeBatch(requests: readonly ExecuteRequest[], options?: ExecuteOptions): Promise<ExecuteBatchResponse>;
  listExecutions(query?: ListExecutionsQuery, options?: CallOptions): Promise<ExecutionSummary[]>;
  execution(id: string, query?: ExecutionQuery, options?: CallOptions): Promise<ExecutionDetail>;
  status(id: string, options?: CallOptions): Promise<StatusResponse>;
  events(id: string, query?: EventsQuery, options?: CallOptions): Promise<EventPage>;
  result(id: string, options?: CallOptions): Promise<ResultResponse>;
  explain(id: string, options?: CallOptions): Promise<ExplainResponse>;
  cancel(id: string, request?: CancelRequest, options?: CallOptions): Promise<CancelResponse>;
  cancellationCheck(id: string, options?: CallOptions): Promise<CancellationCheckResponse>;
  finalize(id: string, request: FinalizeRequest, options?: CallOptions): Promise<FinalizeResponse>;
  /** Ends after a terminal `status` message or when the signal aborts; reconnects in between. */
  stream(id: string, options?: StreamOptions): AsyncIterable<StreamMessage>;

  /** An unhealthy server is an answer, not an error. */
  health(options?: CallOptions): Promise<HealthResponse>;

  registerWorker(request: RegisterWorkerRequest, options?: CallOptions): Promise<RegisterWorkerResponse>;
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<HeartbeatResponse>;
  deregisterWorker(name: string, options?: CallOptions): Promise<Acknowledgement>;
  lease(request: LeaseRequest, options?: CallOptions): Promise<LeaseResponse>;
  report(request: ReportRequest, options?: CallOptions): Promise<ReportResponse>;
  release(eventId: string, request: ReleaseRequest, options?: CallOptions): Promise<Acknowledgement>;
}

export function createClient(clientOptions: ClientOptions): NoetlClient {
  const transport = createTransport(clientOptions);

  /** The one place where an answer gets its type: the server is trusted to keep to the wire types. */
  async function ask<T>(call: Call): Promise<T> {
    return (await transport.json(call)) as T;
  }
  function get<T>(path: string, options: CallOptions = {}, query?: object): Promise<T> {
    return ask<T>({ method: 'GET', path, query: query as Call['query'], signal: options.signal });
  }
  function post<T>(path: string, body: unknown, options: CallOptions = {}, more: Partial<Call> = {}): Promise<T> {
    return ask<T>({ method: 'POST', path, body, signal: options.signal, ...more });
  }

  return {
    register: (content, resourceType, options) =>
      post('/api/catalog/register', { content, resource_type: resourceType }, options),
    catalogList: (query = {}, options) => post('/api/catalog/list', query, options),
    catalogResource: (query, options) => post('/api/catalog/resource', query, options),
    catalogDelete: (request, options) => post('/api/catalog/delete', request, options),
    catalogRestore: (request, options) => post('/api/catalog/restore', request, options),
    validate: (content, options) => post('/api/catalog/validate', { content }, options),

    execute: (request, options = {}) => post('/api/execute', request, options, idempotent(options)),
    executeBatch: (requests, options = {}) =>
      post('/api/execute/batch', { executions: requests }, options, idempotent(options)),
    listExecutions: (query, options) => get('/api/executions', options, query),
    execution: async (id, query, options) => get(executionPath(id), options, query),
    status: async (id, options) => get(executionPath(id, 'status'), options),
    events: async (id, query, options) => get(executionPath(id, 'events'), options, query),
    result: async (id, options) => get(executionPath(id, 'result'), options),
    explain: async (id, options) => get(executionPath(id, 'explain'), options),
    cancel: async (id, request = {}, options) => post(executionPath(id, 'cancel'), request, options),
    cancellationCheck: async (id, options) => get(executionPath(id, 'cancellation-check'), options),
    finalize: async (id, request, options) => post(executionPath(id, 'finalize'), request, options),
    stream: (id, options) => streamExecution(transport, executionPath(id, 'stream'), options),

    async health(options) {
      try {
        return await get<HealthResponse>('/api/health', options);
      } catch (error) {
        if (error instanceof ApiError && isHealth(error.body)) return error.body;
        throw error;
      }
    },

    registerWorker: (request, options) => post('/api/worker/pool/register', request, options),
    heartbeat: (request, options) => post('/api/worker/pool/heartbeat', request, options),
    deregisterWorker: (name, options) => post('/api/worker/pool/deregister', { name }, options),
    lease: (request, options) => post('/api/commands/lease', request, options, { extraTimeMs: request.wait_ms }),
    report: (request, options) => post('/api/worker/report', request, options),
    release: async (eventId, request, options) => post(`/api/commands/${segment(eventId)}/release`, request, options),
  };
}

function executionPath(id: string, part?: string): string {
  return `/api/executions/${segment(id)}${part === undefined ? '' : `/${part}`}`;
}

/** A caller's text stays one segment, whatever it holds; dots alone would be resolved away. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new TypeError(`not an id: '${text}'`);
  return encodeURIComponent(text);
}

function idempotent({ idempotencyKey }: ExecuteOptions): Partial<Call> {
  return { headers: { 'idempotency-key': idempotencyKey } };
}

function isHealth(body: unknown): body is HealthResponse & JsonObject {
  return isObject(body) && body['status'] === 'unhealthy';
}
