// What operators look at. Fields that only programs read are left out.

export interface ShardView {
  shard: string;
  index: number;
  /** False: it did not answer, `error` says why, and there are no figures. */
  reachable: boolean;
  error: string | null;
  /** How many there are of each status. */
  executions?: Record<string, number>;
  /** As the statistics of PostgreSQL know it. */
  events_estimate?: number;
  commands_open?: number;
  /** Of those: a worker could take them now. */
  commands_ready?: number;
  outbox_backlog?: number;
  messages_waiting?: number;
  database_bytes?: number;
  /** Null without an event stream. */
  stream_lag_seconds?: number | null;
}

export interface ShardsResponse {
  shards: ShardView[];
}

export interface OutboxStatusResponse {
  pending: number;
  failed: number;
  in_flight: number;
  dead: number;
  oldest_seconds: number;
}

export interface StreamsResponse {
  enabled: boolean;
  command_transport: string;
  nats: { configured: boolean; connected: boolean; last_error: string | null };
  streams: { name: string; exists: boolean | null; messages: number | null; error: string | null }[];
  shards: { shard: string; lag_events: number | null; lag_seconds: number | null; last_error: string | null }[];
}

export interface WorkerView {
  name: string;
  status: string;
  capacity: number | null;
  in_flight: number | null;
  heartbeat: string;
  labels: unknown;
}
