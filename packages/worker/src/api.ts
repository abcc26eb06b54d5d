// What a worker needs of the control plane. A client of @noetl/client fits as it is; a test hands in its own.
// Failures are read through `describeFailure`, so nothing here depends on the client's error class.
import type {
  CancelRequest,
  ExecuteRequest,
  ExecuteResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  LeaseRequest,
  LeaseResponse,
  PutResultRequest,
  PutResultResponse,
  RegisterWorkerRequest,
  ReleaseRequest,
  ReportRequest,
  ReportResponse,
  ResultResponse,
  StatusResponse,
} from '@noetl/client';
import type { Json } from '@noetl/core';

/** What a tool needs that starts executions and waits for their end. */
export interface ExecutionApi {
  execute(request: ExecuteRequest, options: { idempotencyKey: string }): Promise<ExecuteResponse>;
  status(id: string, options?: { signal?: AbortSignal }): Promise<StatusResponse>;
  childResult(id: string, options?: { signal?: AbortSignal }): Promise<ResultResponse>;
  cancel(id: string, request: CancelRequest, options?: { signal?: AbortSignal }): Promise<unknown>;
}

export interface WorkerApi extends ExecutionApi {
  registerWorker(request: RegisterWorkerRequest): Promise<unknown>;
  heartbeat(request: HeartbeatRequest): Promise<HeartbeatResponse>;
  deregisterWorker(name: string): Promise<unknown>;
  lease(request: LeaseRequest, options?: { signal?: AbortSignal }): Promise<LeaseResponse>;
  report(request: ReportRequest): Promise<ReportResponse>;
  release(eventId: string, request: ReleaseRequest): Promise<unknown>;
  putResult(
    executionId: string,
    request: PutResultRequest,
    options?: { signal?: AbortSignal },
  ): Promise<PutResultResponse>;
  resolveResult(ref: string, options?: { signal?: AbortSignal }): Promise<Json>;
}

export interface ApiFailure {
  readonly message: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

export function describeFailure(error: unknown): ApiFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (typeof error !== 'object' || error === null) return { message };
  const status = 'status' in error && typeof error.status === 'number' ? error.status : undefined;
  const retryAfterMs =
    'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : undefined;
  return {
    message,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** A 4xx that can be cured by waiting or by an operator (token, routing, load) says nothing about the body that was sent. */
const NOT_THE_BODY = new Set([401, 403, 404, 407, 408, 425, 429]);

/** True when the server read the request and refused what is in it: sending the same bytes again is pointless. */
export function refusesBody(failure: ApiFailure): boolean {
  const { status } = failure;
  return status !== undefined && status >= 400 && status < 500 && !NOT_THE_BODY.has(status);
}
