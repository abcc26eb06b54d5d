// What a worker needs of the control plane. A client of @noetl/client fits as it is; a test hands in its own.
// Failures are read through `describeFailure`, so nothing here depends on the client's error class.
import type {
  HeartbeatRequest,
  HeartbeatResponse,
  LeaseRequest,
  LeaseResponse,
  RegisterWorkerRequest,
  ReleaseRequest,
  ReportRequest,
  ReportResponse,
} from '@noetl/client';

export interface WorkerApi {
  registerWorker(request: RegisterWorkerRequest): Promise<unknown>;
  heartbeat(request: HeartbeatRequest): Promise<HeartbeatResponse>;
  deregisterWorker(name: string): Promise<unknown>;
  lease(request: LeaseRequest, options?: { signal?: AbortSignal }): Promise<LeaseResponse>;
  report(request: ReportRequest): Promise<ReportResponse>;
  release(eventId: string, request: ReleaseRequest): Promise<unknown>;
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
