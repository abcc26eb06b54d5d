// What the outbox holds: things that the append transaction decided to tell somebody. A row is told at least once.
//
//   PENDING ──claim──► IN_FLIGHT ──mark published──► PUBLISHED
//      ▲                 │  │
//      │   lease ran out │  └──mark failed──► FAILED ──claim, after its back-off──► IN_FLIGHT
//      └─────────────────┘
//   From IN_FLIGHT a row that has used up its attempts becomes DEAD; `retry` makes it PENDING again with a fresh count.
//
// Every claim raises `lock_token`. A mark that carries an older token than the row changes nothing: the row has a new owner.
import type { Id, Json } from '@noetl/core';

export const OUTBOX_STATUSES = ['PENDING', 'IN_FLIGHT', 'PUBLISHED', 'FAILED', 'DEAD'] as const;
export type OutboxStatus = (typeof OUTBOX_STATUSES)[number];

/** `event` and `command` go to a stream, through any publisher. A `callback` is delivered by the server itself. */
export type Topic = 'event' | 'command' | 'callback';

/** Who claims. Publishers get every topic but callbacks, those of foreign producers included. */
export type Audience = 'publishers' | 'callbacks';

/** A row as the append transaction writes it. */
export interface OutboxInsert {
  readonly topic: Topic;
  /** Subject of the stream, or the URL of a callback. */
  readonly subject: string;
  /** Unique for ever: the same thing decided twice is told once. */
  readonly msg_id: string;
  readonly ordering_key: string | null;
  readonly execution_id: Id;
  readonly event_id: Id;
  readonly payload: Json;
  readonly headers: Readonly<Record<string, string>>;
  readonly delay_ms: number;
}

/** A row in the hands of whoever claimed it. */
export interface OutboxRow {
  /** Unique over all shards (shard-ids.ts). */
  readonly outbox_id: Id;
  readonly topic: string;
  readonly subject: string | null;
  readonly msg_id: string;
  readonly execution_id: Id | null;
  readonly event_id: Id | null;
  readonly payload: Json;
  readonly payload_codec: string;
  readonly headers: Json;
  /** This claim included. */
  readonly attempts: number;
  readonly lock_token: number;
}
