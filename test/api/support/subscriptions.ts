// A small subscription document for API tests: where its messages would come from does not matter, nobody reads them. And the fold of a
// log as it was read over HTTP.
import { stringify } from 'yaml';
import type { WireEvent } from '../../../packages/client/src/index.js';
import { type EventRow, foldSubscription, type SubscriptionRecord } from '../../../packages/core/src/index.js';

export function subscription(path: string, spec: object = {}): string {
  return stringify({
    apiVersion: 'noetl.io/v1',
    kind: 'Subscription',
    metadata: { name: path.split('/').at(-1), path },
    spec: {
      source: 'nats',
      mode: 'pull',
      stream: 'ORDERS',
      consumer: 'orders',
      dispatch: { playbook: 'orders/ingest' },
      ...spec,
    },
  });
}

export function replayed(events: readonly WireEvent[]): SubscriptionRecord | undefined {
  return foldSubscription(events as unknown as readonly EventRow[]);
}
