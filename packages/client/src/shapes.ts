// Queries and answers of the client's methods that are not wire types of their own in api.ts.
import type { Json, JsonObject, SubscriptionState } from '@noetl/core';
import type {
  CatalogEntry,
  EventPage,
  ExecutionStatus,
  ExecutionSummary,
  HeartbeatResponse,
  WireDiagnostic,
  WireEvent,
} from './api.js';

export interface CatalogListQuery {
  resource_type?: string;
  path?: string;
  latest_only?: boolean;
  include_archived?: boolean;
}

export interface CatalogListResponse {
  entries: CatalogEntry[];
}

/** `catalog_id` wins over `path`; no `version` means the latest. */
export type CatalogResourceQuery = { catalog_id: string } | { path: string; version?: number | string };

/** No `version` means all versions of the path. */
export interface CatalogArchiveRequest {
  path: string;
  version?: number;
}

export interface CatalogVersion {
  catalog_id: string;
  version: number;
}

export interface CatalogDeleteResponse {
  status: 'success';
  message: string;
  path: string;
  deleted: CatalogVersion[];
  count: number;
}

export interface CatalogRestoreResponse {
  status: 'success';
  message: string;
  path: string;
  restored: CatalogVersion[];
  count: number;
}

export interface ValidateResponse {
  valid: boolean;
  /** The errors among the diagnostics, as text. */
  errors: string[];
  diagnostics: WireDiagnostic[];
  /** Null when the text has no graph. */
  graph: {
    nodes: { id: string; kind: string; line: number }[];
    arcs: { from: string; to: string; when?: string | boolean; back: boolean }[];
  } | null;
}

export interface ExecuteBatchResponse {
  count: number;
  started: number;
  duplicates: number;
  failed: number;
  /** One per request, in order. */
  results: ExecuteBatchResult[];
}

export interface ExecuteBatchResult {
  index: number;
  status: 'started' | 'duplicate' | 'error';
  execution_id?: string;
  commands_generated: number;
  error?: string;
}

export interface ListExecutionsQuery {
  path?: string;
  status?: ExecutionStatus;
  catalog_id?: string;
  parent_execution_id?: string;
  limit?: number;
  offset?: number;
  page?: number;
  page_size?: number;
}

export interface EventsQuery {
  page?: number;
  page_size?: number;
  since_event_id?: string;
  event_type?: string;
  order?: 'asc' | 'desc';
}

export interface SubscriptionQuery {
  state?: SubscriptionState;
  path?: string;
}

export type SubscriptionEventsQuery = Pick<EventsQuery, 'page' | 'page_size' | 'order'>;

export interface ExecutionQuery extends EventsQuery {
  include_events?: boolean;
}

export interface ExecutionDetail extends ExecutionSummary {
  workload: Json;
  events: WireEvent[];
  pagination: EventPage['pagination'];
}

export interface CancelRequest {
  reason?: string;
  /** Cancel the children too. The server's default is true. */
  cascade?: boolean;
}

/** A `reason` alone means FAILED with that reason. */
export interface FinalizeRequest {
  status?: 'COMPLETED' | 'FAILED';
  error?: string;
  reason?: string;
}

export interface FinalizeResponse {
  execution_id: string;
  status: string;
  message: string;
}

export interface CancellationCheckResponse {
  execution_id: string;
  is_cancelled: boolean;
  status: ExecutionStatus;
}

export interface HealthResponse {
  status: 'ok' | 'unhealthy';
  database: string;
  nats: string;
  uptime_seconds: number;
  version: string;
}

export interface RegisterWorkerResponse {
  runtime_id: string;
  name: string;
  kind: string;
  status: string;
  /** How long a claim lasts without a heartbeat. */
  lease_ms?: number;
  labels?: JsonObject | null;
}

export type Acknowledgement = Pick<HeartbeatResponse, 'message'> & { status: string };
