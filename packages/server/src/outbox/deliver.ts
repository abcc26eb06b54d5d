// Delivers completion callbacks. Any number of servers may do it at the same time: a claim belongs to one of them.
import type { Logger } from 'pino';
import { backoffSeconds } from './backoff.js';
import { type CallbackSettings, sendCallback } from './callback.js';
import type { OutboxMetrics } from './metrics.js';
import type { OutboxRow } from './model.js';
import type { Outbox } from './outbox.js';

const BATCH = 32;
/** Longer than a delivery may take, so that a slow receiver is not called twice at once. */
const LEASE_MS = 60_000;
const MAX_DELAY_SECONDS = 300;

export interface DeliveryOptions {
  readonly outbox: Outbox;
  readonly settings: CallbackSettings;
  readonly metrics: OutboxMetrics;
  readonly logger: Logger;
  readonly owner: string;
}

/** Delivers some of what is due, side by side. True: there may be more. */
export async function deliverCallbacks(options: DeliveryOptions): Promise<boolean> {
  const { outbox, owner } = options;
  const rows = await outbox.claim({ audience: 'callbacks', limit: BATCH, owner, leaseMs: LEASE_MS });
  await Promise.all(rows.map((row) => deliver(row, options)));
  return rows.length === BATCH;
}

async function deliver(row: OutboxRow, { outbox, settings, metrics, logger }: DeliveryOptions): Promise<void> {
  const mark = { outboxId: row.outbox_id, token: row.lock_token };
  try {
    const { subject, payload, msg_id: deliveryId, attempts: attempt } = row;
    if (subject === null) throw new Error('this callback has no URL');
    await sendCallback({ url: subject, payload, deliveryId, attempt }, settings, Math.floor(Date.now() / 1000));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const delaySeconds = backoffSeconds(row.attempts, MAX_DELAY_SECONDS);
    const status = await outbox.markFailed({ ...mark, error: message, delaySeconds });
    metrics.callback('failed');
    const detail = { execution_id: row.execution_id, attempt: row.attempts, error: message };
    if (status === 'DEAD') logger.error(detail, 'completion callback given up');
    else logger.warn({ ...detail, retry_in_seconds: delaySeconds }, 'completion callback failed');
    return;
  }
  await outbox.markPublished([mark]);
  metrics.callback('delivered');
}
