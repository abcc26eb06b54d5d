// A `kind: Subscription` document as the control plane and the runtime see it: checked, with its defaults filled in.
import type { JsonObject } from '../json/types.js';
import type { Metadata } from '../playbook/model.js';

export interface Subscription {
  readonly metadata: Metadata;
  readonly spec: SubscriptionSpec;
}

export const SOURCES = ['pubsub', 'nats', 'kafka', 'webhook'] as const;
export type SubscriptionSource = (typeof SOURCES)[number];

export interface SubscriptionSpec {
  readonly source: SubscriptionSource;
  readonly delivery: PullDelivery | PushDelivery;
  readonly dispatch: Dispatch;
  readonly dedup: Dedup;
  readonly limits: Limits;
  /** Which headers of a message may steer its execution; verbatim, checked in shape only. */
  readonly headers: JsonObject;
  readonly spool: Spool;
  /** All other keys, verbatim: the address of the source, `auth`, `runtime`. The source reads what it needs. */
  readonly settings: JsonObject;
}

/** We fetch messages. */
export interface PullDelivery {
  readonly mode: 'pull';
  readonly activation: (typeof ACTIVATIONS)[number];
}

export const ACTIVATIONS = ['continuous', 'scheduled'] as const;

/** Messages are brought to an address of ours. */
export interface PushDelivery {
  readonly mode: 'push';
  readonly ingress: Ingress;
}

export interface Ingress {
  /** Absolute; the last segment names the listener. */
  readonly gatewayPath: string;
  readonly verify: Verification;
}

/** How a delivery proves where it comes from. Secrets are names of credentials. */
export type Verification =
  | { readonly type: 'hmac_sha256'; readonly header: string; readonly secret: string }
  | { readonly type: 'bearer'; readonly secret: string }
  | { readonly type: 'pubsub_oidc'; readonly audience: string; readonly serviceAccount: string };

/** What a message starts. */
export interface Dispatch {
  readonly playbook: string;
  readonly payloadFrom: string;
  readonly executionPool?: string;
  readonly batchDispatch: boolean;
  readonly batchMax?: number;
}

/** Within the window a message with the same key starts nothing. */
export interface Dedup {
  readonly enabled: boolean;
  readonly windowSeconds: number;
}

export interface Limits {
  readonly maxInFlight?: number;
  readonly maxDispatchPerSecond?: number;
}

/** Where messages wait while what they start cannot take them. */
export type Spool =
  | { readonly mode: 'off' }
  | {
      readonly mode: 'buffer_and_ack' | 'hybrid';
      readonly backend: SpoolBackend;
      /** A bucket, or a folder for `local_disk`. */
      readonly location: string;
      readonly ordering: (typeof ORDERINGS)[number];
      /** The whole block, verbatim. */
      readonly settings: JsonObject;
    };

export const SPOOL_BACKENDS = ['nats_object', 'local_disk', 'gcs', 's3'] as const;
export type SpoolBackend = (typeof SPOOL_BACKENDS)[number];
export const ORDERINGS = ['global', 'per_key', 'none'] as const;
