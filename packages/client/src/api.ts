// The wire shapes of the HTTP API that our own worker, CLI and console use (docs/worker-protocol.md).
// Ids are decimal strings here. Routes kept for reference clients, which want integer literals, are not described in this file.
import type { Json, JsonObject, SubscriptionEventType, SubscriptionState } from '@noetl/core';

export type ExecutionStatus = 'PENDING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

export interface ErrorBody {
  error: string;
  status: number;
  /** Machine-readable reason where a caller must react: `stale_claim`, `already_terminal`, … */
  code?: string;
}

// ---- catalog ----------------------------------------------------------------------------------------------------------

export interface RegisterResponse {
  status: 'success';
  message: string;
  path: string;
  version: number;
  catalog_id: string;
  kind: string;
  warnings?: WireDiagnostic[];
}

export interface WireDiagnostic {
  severity: 'error' | 'warning';
  code: string;
  message: string;
  hint?: string;
  path: string;
  line: number;
  column: number;
}

/** Body of a 422 answer to register: `ErrorBody` plus every problem found. */
export interface InvalidPlaybookBody extends ErrorBody {
  diagnostics: WireDiagnostic[];
}

export interface CatalogEntry {
  catalog_id: string;
  path: string;
  kind: string;
  version: number;
  content: string | null;
  layout: Json;
  payload: Json;
  meta: Json;
  created_at: string;
}

// ---- executions -------------------------------------------------------------------------------------------------------

export interface ExecuteRequest {
  path?: string;
  catalog_id?: string;
  version?: number | string;
  payload?: JsonObject;
  parent_execution_id?: string;
  execution_pool?: string;
  trace?: JsonObject;
  dedup?: { key: string; window_secs?: number };
}

export interface ExecuteResponse {
  execution_id: string;
  status: 'started' | 'duplicate';
  commands_generated: number;
  path?: string;
  catalog_id?: string;
  version?: number;
}

export interface ExecutionSummary {
  execution_id: string;
  catalog_id: string;
  path: string;
  version: number | null;
  status: ExecutionStatus;
  start_time: string;
  end_time: string | null;
  started_at: string;
  completed_at: string | null;
  duration_seconds: number | null;
  duration_human: string | null;
  progress: number;
  error: string | null;
  parent_execution_id: string | null;
  event_count: number;
}

export interface WireEvent {
  execution_id: string;
  event_id: string;
  stream_version: number;
  catalog_id: string;
  parent_event_id: string | null;
  parent_execution_id: string | null;
  event_type: string;
  node_id: string | null;
  node_name: string | null;
  node_type: string | null;
  status: string;
  command_id: string | null;
  worker_id: string | null;
  duration: number | null;
  context: Json;
  result: Json;
  meta: Json;
  error: string | null;
  created_at: string;
  timestamp: string;
}

export interface EventPage {
  execution_id: string;
  path: string;
  status: ExecutionStatus;
  events: WireEvent[];
  pagination: {
    page: number;
    page_size: number;
    total_events: number;
    total_pages: number;
    has_next: boolean;
    has_prev: boolean;
  };
}

export interface StatusResponse {
  execution_id: string;
  status: ExecutionStatus;
  path: string;
  current_step: string | null;
  progress: { total_steps: number; completed_steps: number; running_steps: number; failed_steps: number };
  is_cancelled: boolean;
  completed: boolean;
  failed: boolean;
  completed_steps: string[];
  error: string | null;
  start_time: string;
  end_time: string | null;
  duration_seconds: number | null;
  duration_human: string | null;
}

export interface ResultResponse {
  execution_id: string;
  status: ExecutionStatus;
  /** The failed step, its error and the event that recorded it, when the execution failed. */
  error?: { message: string; step?: string; event_id?: string; info?: Json };
  /** Data of the step that finished last. */
  result: Json;
  steps: Record<string, Json>;
}

export interface CancelResponse {
  execution_id: string;
  status: 'cancelled' | 'already_completed';
  cancelled_executions: string[];
  message: string;
}

/** Why an execution is where it is. */
export interface ExplainResponse {
  execution_id: string;
  status: ExecutionStatus;
  summary: string;
  waiting_for: ExplainItem[];
}

export interface ExplainItem {
  kind: 'command_pending' | 'command_running' | 'join' | 'timer' | 'signal' | 'child' | 'terminal' | 'failure_draining';
  step?: string;
  command_id?: string;
  detail: string;
  what_to_do?: string;
}

/** SSE of `GET /api/executions/{id}/stream`: `id` is the event id, `event` is one of these names, `data` the JSON below. */
export type StreamMessage =
  | { event: 'event'; id: string; data: WireEvent }
  | { event: 'status'; id?: string; data: { execution_id: string; status: ExecutionStatus } };

export interface RerunRequest {
  mode?: RerunResponse['mode'];
  /** For `from_step`. */
  step?: string;
  /** For `from_event`: the last event to keep. */
  event_id?: string;
  /** Values to change, key by key. */
  workload?: JsonObject;
}

export interface RerunResponse {
  /** The new execution. */
  execution_id: string;
  source_execution_id: string;
  mode: 'same' | 'from_failure' | 'from_step' | 'from_event';
  status: 'started' | 'duplicate';
  /** Events of the old log that the new one begins with. */
  copied_events: number;
  commands_generated: number;
}

export interface SignalRequest {
  name: string;
  payload?: Json;
}

export interface SignalResponse {
  execution_id: string;
  signal: string;
  /** `kept`: no step waits for it yet. */
  status: 'delivered' | 'kept' | 'duplicate';
  /** The step that goes on. */
  step?: string;
}

export interface OperationRequest extends Omit<RerunRequest, 'event_id'> {
  action: 'cancel' | 'rerun';
  filter: {
    execution_ids?: string[];
    /** Exact, or a prefix that ends with `*`. */
    path?: string;
    catalog_id?: string;
    parent_execution_id?: string;
    status?: string | string[];
    started_after?: string;
    started_before?: string;
  };
  /** Refused when more match. */
  limit?: number;
  dry_run?: boolean;
  reason?: string;
}

export interface OperationView {
  operation_id: string;
  action: 'cancel' | 'rerun';
  request: JsonObject;
  status: 'RUNNING' | 'COMPLETED' | 'CANCELLED';
  total: number;
  done: number;
  /** Had ended before they could be cancelled. */
  skipped: number;
  failed: number;
  progress: number;
  created_at: string;
  ended_at: string | null;
  /** The first few, for one operation. */
  failures?: { execution_id: string; error: string | null }[];
}

// ---- subscriptions ----------------------------------------------------------------------------------------------------

export interface SubscriptionStatus {
  subscription_id: string;
  path: string;
  catalog_id: string;
  state: SubscriptionState;
  last_event_type: SubscriptionEventType;
  updated_at: string;
}

export interface SubscriptionList {
  /** Oldest first. */
  subscriptions: SubscriptionStatus[];
}

export interface SubscriptionEventPage {
  subscription_id: string;
  path: string;
  state: SubscriptionState;
  events: WireEvent[];
  pagination: EventPage['pagination'];
}

// ---- results ----------------------------------------------------------------------------------------------------------

export interface PutResultRequest {
  /** Usually the step. */
  name: string;
  data: Json;
  /** `execution` unless given; also `step`, `workflow`, `permanent`. */
  scope?: string;
  source_step?: string;
  /** `30s`, `15m`, `1h`, `2d`, `1w`, `1y`, seconds, or `forever`. */
  ttl?: Json;
}

export interface PutResultResponse {
  ref: string;
  store: string;
  scope: string;
  bytes: number;
  sha256: string;
  expires_at: string | null;
}

// ---- workers ----------------------------------------------------------------------------------------------------------

export interface RegisterWorkerRequest {
  name: string;
  component_type?: 'worker_pool' | 'server_api' | 'broker';
  status?: string;
  hostname?: string;
  capacity?: number;
  labels?: JsonObject;
  capabilities?: Json;
  runtime?: Json;
  uri?: string | null;
}

export interface LeaseRequest {
  worker_id: string;
  pools: string[];
  /** At most this many commands. */
  max: number;
  /** How long the server may hold the request open when nothing is ready (0 to 30,000). */
  wait_ms: number;
}

/** A claimed command. It belongs to this worker until `lease_ms` pass without a heartbeat. */
export interface LeasedCommand {
  execution_id: string;
  /** Id of the `command.issued` event. */
  event_id: string;
  command_id: string;
  step: string;
  tool_kind: string;
  attempt: number;
  max_attempts: number;
  /** Sent back with every report; a superseded token is refused. */
  claim_token: number;
  lease_ms: number;
  context: CommandContext;
  meta: JsonObject;
  /** What the worker said when it gave the command back: where a list of tools goes on. */
  resume?: Json;
}

export interface CommandContext {
  /** Rendered configuration: an object for one tool, `[{label: spec}]` for a pipeline. */
  tool_config: Json;
  /** Rendered inputs. */
  args: JsonObject;
  /** Only the context roots that the step mentions. */
  render_context: JsonObject;
}

export interface LeaseResponse {
  commands: LeasedCommand[];
}

export interface ReportedEvent {
  event_type:
    | 'command.started'
    | 'call.done'
    | 'call.error'
    | 'command.completed'
    | 'command.failed'
    | 'command.cancelled';
  status: string;
  created_at: string;
  context: JsonObject;
  meta?: JsonObject;
}

export interface CommandReport {
  execution_id: string;
  command_id: string;
  claim_token: number;
  events: ReportedEvent[];
}

export interface ReportRequest {
  worker_id: string;
  reports: CommandReport[];
  /** Claim the next commands in the same transaction. Never waits. */
  lease?: { pools: string[]; max: number };
}

export interface ReportResponse {
  /** One per report, in order. */
  results: ReportResult[];
  commands: LeasedCommand[];
}

export interface ReportResult {
  command_id: string;
  /**
   * `ok`: recorded now. `duplicate`: recorded before, same claim. `unavailable`: the database of its execution does not answer, send it again.
   * The others: refused, drop it.
   */
  status: 'ok' | 'duplicate' | 'unavailable' | 'stale_claim' | 'already_terminal' | 'unknown_command' | 'rejected';
  error?: string;
}

export interface HeartbeatRequest {
  name: string;
  status?: 'ready' | 'draining';
  capacity?: number;
  in_flight?: number;
  leases?: { command_id: string; claim_token: number }[];
}

export interface HeartbeatResponse {
  status: 'ok';
  message: string;
  /** Commands whose execution was cancelled: abort them and report `command.cancelled`. */
  cancelled: string[];
  /** Commands this worker no longer holds: abort them and report nothing. */
  lost: string[];
}

export interface ReleaseRequest {
  worker_id: string;
  claim_token: number;
  reason: string;
  delay_ms?: number;
  /** False for a drain: the attempt was not used up. */
  count_attempt?: boolean;
  /** Comes back with the next lease: where a list of tools goes on. */
  resume?: Json;
}
