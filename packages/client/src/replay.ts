// The wire shapes of replay and time travel (docs/replay.md, docs/time-travel.md).
import type {
  AlignedVisit,
  Change,
  GraphView,
  Json,
  RequestedProjection,
  TimelineView,
  Variable,
  Writer,
} from '@noetl/core';
import type { ExecutionStatus } from './api.js';

export interface ReplayStateQuery {
  execution_id: string;
  as_of_event_id?: string;
  as_of_time?: string;
  projection?: RequestedProjection;
  limit?: number | 'all';
  resolve_payloads?: boolean;
}

export interface ReplayStateText {
  /** JSON; read it with `parseExactJson`, which keeps `1.0` apart from `1`. */
  body: string;
  /** The limit cut the log, and it goes on with this event. */
  next_event_id: string | null;
  /** The fold began with a stored state that ends here. */
  seed_event_id: string | null;
}

/** Where a moment lies in a log. */
export interface Place {
  stream_version: number;
  event_id: string;
  time: string;
}

export interface MomentQuery {
  /** Event id, `#12` for the twelfth event, or a time with its zone; the end of the log when absent. */
  at?: string;
}

export interface TimelineQuery extends MomentQuery {
  after?: number;
  limit?: number;
}

export interface TimelineResponse extends TimelineView {
  execution_id: string;
  at: Place;
}

export interface GraphResponse extends GraphView {
  execution_id: string;
  path: string;
  status: ExecutionStatus;
  at: Place;
}

export interface VariablesQuery extends MomentQuery {
  after?: string;
  limit?: number;
}

export interface VariablesResponse {
  execution_id: string;
  at: Place;
  /** A value that is too long to show is null, and `size` says how long it is. */
  variables: (Variable & { size?: number })[];
  next: string | null;
}

export interface EventLink {
  event_id: string;
  stream_version: number;
  event_type: string;
  node_name: string | null;
  status: string | null;
  command_id: string | null;
  created_at: string;
}

export type ShownChange = Change & { before_size?: number; after_size?: number };

export interface ChangesResponse {
  execution_id: string;
  at: Place;
  /** Oldest first. */
  events: (EventLink & { changes: ShownChange[]; truncated: boolean })[];
  /** What to ask for as `at` to see what was before; null at the beginning. */
  previous: string | null;
}

export interface NeighboursResponse {
  execution_id: string;
  event: EventLink;
  previous: EventLink | null;
  next: EventLink | null;
  cause: EventLink | null;
  consequences: EventLink[];
  truncated: boolean;
}

export interface DiffQuery {
  execution_id: string;
  /** Another execution; absent: the same one. */
  with?: string;
  from?: string;
  to?: string;
}

export interface DiffSide {
  execution_id: string;
  at: Place;
  status: ExecutionStatus;
}

export interface DiffResponse {
  left: DiffSide;
  right: DiffSide;
  /** Of one execution. */
  events_between?: number;
  /** Of two executions: whether one began as a copy of the other. */
  forked?: 'right_from_left' | 'left_from_right' | null;
  copied_events?: number;
  changes: (ShownChange & { before_by: Writer | null; after_by: Writer | null })[];
  truncated: boolean;
  visits?: AlignedVisit[];
  first_difference?: AlignedVisit | null;
}

export type DriftOutcome = 'matched' | 'differs' | 'empty';

export interface DriftReport {
  execution_id: string;
  events: number;
  /** `empty`: there was nothing on either side, so nothing was shown. */
  outcome: DriftOutcome;
  surfaces: Record<string, { outcome: DriftOutcome; compared: number }>;
  differences: { surface: string; key: string; field: string; replayed: Json; live: Json }[];
}

export interface DriftPage {
  checked: number;
  matched: number;
  differs: number;
  empty: number;
  drifted: DriftReport[];
  next: string | null;
}

export interface ImportResponse {
  execution_id: string;
  /** `duplicate`: the very same log was there already. */
  status: 'imported' | 'duplicate';
  events: number;
  sha256: string;
}
