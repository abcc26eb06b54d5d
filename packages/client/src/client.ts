// The typed client of the HTTP API: one method per route, nothing but naming the route and its types.
// The worker, the CLI and the console speak to the control plane through this and nothing else.
import { isObject, type Json, type JsonObject, type SubscriptionAction } from '@noetl/core';
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
  OperationRequest,
  OperationView,
  PutResultRequest,
  PutResultResponse,
  RegisterResponse,
  RegisterWorkerRequest,
  ReleaseRequest,
  ReportRequest,
  ReportResponse,
  RerunRequest,
  RerunResponse,
  ResultResponse,
  SignalRequest,
  SignalResponse,
  StatusResponse,
  StreamMessage,
  SubscriptionEventPage,
  SubscriptionList,
  SubscriptionStatus,
} from './api.js';
import { ApiError } from './errors.js';
import type { OutboxStatusResponse, ShardsResponse, StreamsResponse, WorkerView } from './operations.js';
import type {
  ChangesResponse,
  DiffQuery,
  DiffResponse,
  DriftPage,
  DriftReport,
  GraphResponse,
  ImportResponse,
  MomentQuery,
  NeighboursResponse,
  ReplayStateQuery,
  ReplayStateText,
  TimelineQuery,
  TimelineResponse,
  VariablesQuery,
  VariablesResponse,
} from './replay.js';
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
  SubscriptionEventsQuery,
  SubscriptionQuery,
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
  /** For workers: the same, with nothing masked. */
  childResult(id: string, options?: CallOptions): Promise<ResultResponse>;
  explain(id: string, options?: CallOptions): Promise<ExplainResponse>;
  cancel(id: string, request?: CancelRequest, options?: CallOptions): Promise<CancelResponse>;
  cancellationCheck(id: string, options?: CallOptions): Promise<CancellationCheckResponse>;
  finalize(id: string, request: FinalizeRequest, options?: CallOptions): Promise<FinalizeResponse>;
  /** A step `kind: wait` with this name goes on, now or when it comes to wait. */
  signal(id: string, request: SignalRequest, options?: ExecuteOptions): Promise<SignalResponse>;
  /** A new execution; the old one stays as it is. */
  rerun(id: string, request?: RerunRequest, options?: ExecuteOptions): Promise<RerunResponse>;
  /** One action on many executions; the server does it in the background. */
  startOperation(request: OperationRequest, options?: CallOptions): Promise<OperationView>;
  operation(id: string, options?: CallOptions): Promise<OperationView>;
  operations(options?: CallOptions): Promise<{ operations: OperationView[] }>;
  /** Ends after a terminal `status` message or when the signal aborts; reconnects in between. */
  stream(id: string, options?: StreamOptions): AsyncIterable<StreamMessage>;

  /** The state as of a cutoff, as the text that its checksums are about, and what the server says beside it. */
  replayState(query: ReplayStateQuery, options?: CallOptions): Promise<ReplayStateText>;
  timeline(id: string, query?: TimelineQuery, options?: CallOptions): Promise<TimelineResponse>;
  graph(id: string, query?: MomentQuery, options?: CallOptions): Promise<GraphResponse>;
  variables(id: string, query?: VariablesQuery, options?: CallOptions): Promise<VariablesResponse>;
  changes(id: string, query?: MomentQuery & { limit?: number }, options?: CallOptions): Promise<ChangesResponse>;
  neighbours(id: string, eventId: string, options?: CallOptions): Promise<NeighboursResponse>;
  diff(query: DiffQuery, options?: CallOptions): Promise<DiffResponse>;
  drift(id: string, options?: CallOptions): Promise<DriftReport>;
  driftPage(query?: { after?: string; limit?: number }, options?: CallOptions): Promise<DriftPage>;
  /** The log as a file, in chunks. */
  exportLog(id: string, options?: CallOptions): Promise<AsyncIterable<Uint8Array>>;
  /** The same log again changes nothing: safe to repeat. */
  importLog(chunks: AsyncIterable<Uint8Array>, options?: CallOptions): Promise<ImportResponse>;

  /** The living subscription of the path, registered now when there is none: safe to repeat. */
  registerSubscription(path: string, options?: CallOptions): Promise<SubscriptionStatus>;
  moveSubscription(id: string, action: SubscriptionAction, options?: CallOptions): Promise<SubscriptionStatus>;
  subscription(id: string, options?: CallOptions): Promise<SubscriptionStatus>;
  subscriptions(query?: SubscriptionQuery, options?: CallOptions): Promise<SubscriptionList>;
  subscriptionEvents(
    id: string,
    query?: SubscriptionEventsQuery,
    options?: CallOptions,
  ): Promise<SubscriptionEventPage>;

  /** An unhealthy server is an answer, not an error. */
  health(options?: CallOptions): Promise<HealthResponse>;
  workers(options?: CallOptions): Promise<WorkerView[]>;
  shards(options?: CallOptions): Promise<ShardsResponse>;
  outboxStatus(options?: CallOptions): Promise<OutboxStatusResponse>;
  streamsStatus(options?: CallOptions): Promise<StreamsResponse>;

  /** The same content under the same name again answers with the same reference: safe to repeat. */
  putResult(executionId: string, request: PutResultRequest, options?: CallOptions): Promise<PutResultResponse>;
  /** The stored value behind a reference. */
  resolveResult(ref: string, options?: CallOptions): Promise<Json>;

  registerWorker(request: RegisterWorkerRequest, options?: CallOptions): Promise<RegisterWorkerResponse>;
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<HeartbeatResponse>;
  deregisterWorker(name: string, options?: CallOptions): Promise<Acknowledgement>;
  lease(request: LeaseRequest, options?: CallOptions): Promise<LeaseResponse>;
  report(request: ReportRequest, options?: CallOptions): Promise<ReportResponse>;
  release(eventId: string, request: ReleaseRequest, options?: CallOptions): Promise<Acknowledgement>;
}

/** A result may be 64 MiB long. */
const LARGE_BODY_MS = 60_000;
/** A log may have a million events. */
const LONG_LOG_MS = 120_000;

export function createClient(clientOptions: ClientOptions): NoetlClient {
  const transport = createTransport(clientOptions);

  /** The one place where an answer gets its type: the server is trusted to keep to the wire types. */
  async function ask<T>(call: Call): Promise<T> {
    return (await transport.json(call)) as T;
  }
  function get<T>(path: string, options: CallOptions = {}, query?: object): Promise<T> {
    return ask<T>({ method: 'GET', path, query: query as Call['query'], signal: options.signal });
  }
  /** Views that are folded from the log: a long one takes its time. */
  function look<T>(path: string, options: CallOptions = {}, query?: object): Promise<T> {
    const call = { method: 'GET', path, query: query as Call['query'], signal: options.signal } as const;
    return ask<T>({ ...call, extraTimeMs: LONG_LOG_MS });
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
    childResult: async (id, options) => get(`/api/worker${executionPath(id, 'result').slice('/api'.length)}`, options),
    explain: async (id, options) => get(executionPath(id, 'explain'), options),
    cancel: async (id, request = {}, options) => post(executionPath(id, 'cancel'), request, options),
    cancellationCheck: async (id, options) => get(executionPath(id, 'cancellation-check'), options),
    finalize: async (id, request, options) => post(executionPath(id, 'finalize'), request, options),
    signal: async (id, request, options = {}) =>
      post(executionPath(id, 'signal'), request, options, idempotent(options)),
    rerun: async (id, request = {}, options = {}) =>
      post(executionPath(id, 'rerun'), request, options, idempotent(options)),
    startOperation: (request, options) => post('/api/operations', request, options),
    operation: async (id, options) => get(`/api/operations/${encodeURIComponent(id)}`, options),
    operations: (options) => get('/api/operations', options),
    stream: (id, options) => streamExecution(transport, executionPath(id, 'stream'), options),

    async replayState(query, options = {}) {
      const call: Call = {
        method: 'GET',
        path: '/api/replay/state',
        query: { ...query },
        signal: options.signal,
        extraTimeMs: LONG_LOG_MS,
      };
      const answer = await transport.raw(call);
      const next = answer.headers.get('x-noetl-replay-next-event-id');
      const seed = answer.headers.get('x-noetl-replay-seed');
      return { body: await answer.text(), next_event_id: next, seed_event_id: seed };
    },
    timeline: async (id, query, options) => look(executionPath(id, 'timeline'), options, query),
    graph: async (id, query, options) => look(executionPath(id, 'graph'), options, query),
    variables: async (id, query, options) => look(executionPath(id, 'variables'), options, query),
    changes: async (id, query, options) => look(executionPath(id, 'changes'), options, query),
    neighbours: async (id, eventId, options) =>
      look(executionPath(id, `events/${segment(eventId)}/neighbours`), options),
    diff: (query, options) => look('/api/replay/diff', options, query),
    drift: (execution_id, options) => look('/api/replay/drift', options, { execution_id }),
    driftPage: (query, options) => look('/api/replay/drift', options, query),
    async exportLog(id, options = {}) {
      const call: Call = {
        method: 'GET',
        path: '/api/replay/export',
        query: { execution_id: id },
        signal: options.signal,
      };
      const { body } = await transport.raw(call);
      return (body ?? []) as unknown as AsyncIterable<Uint8Array>;
    },
    importLog: (chunks, options = {}) =>
      ask({
        method: 'POST',
        path: '/api/replay/import',
        upload: { type: 'application/x-ndjson', chunks },
        signal: options.signal,
        extraTimeMs: LONG_LOG_MS,
      }),

    registerSubscription: (path, options) => post('/api/subscriptions/register', { path }, options),
    moveSubscription: async (id, action, options) => post(subscriptionPath(id, action), {}, options),
    subscription: async (id, options) => get(subscriptionPath(id), options),
    subscriptions: (query, options) => get('/api/subscriptions', options, query),
    subscriptionEvents: async (id, query, options) => get(subscriptionPath(id, 'events'), options, query),

    async health(options) {
      try {
        return await get<HealthResponse>('/api/health', options);
      } catch (error) {
        if (error instanceof ApiError && isHealth(error.body)) return error.body;
        throw error;
      }
    },

    workers: (options) => get('/api/worker/pools', options),
    shards: (options) => get('/api/ops/shards', options),
    outboxStatus: (options) => get('/api/ops/outbox', options),
    streamsStatus: (options) => get('/api/ops/streams', options),

    putResult: async (executionId, request, options) =>
      post(`/api/result/${segment(executionId)}`, request, options, { method: 'PUT', extraTimeMs: LARGE_BODY_MS }),
    resolveResult: (ref, options = {}) =>
      ask({
        method: 'GET',
        path: '/api/result/resolve',
        query: { ref },
        signal: options.signal,
        extraTimeMs: LARGE_BODY_MS,
      }),

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

function subscriptionPath(id: string, part?: string): string {
  return `/api/subscriptions/${segment(id)}${part === undefined ? '' : `/${part}`}`;
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
