export { type Totals, totals } from './backlog.js';
export { backoffSeconds } from './backoff.js';
export { type CallbackSettings, readCallbackUrl } from './callback.js';
export { deliverCallbacks } from './deliver.js';
export { createOutboxMetrics, type OutboxMetrics } from './metrics.js';
export type { Audience, OutboxInsert, OutboxRow, OutboxStatus, Topic } from './model.js';
export { createOutbox, type Mark, type Outbox, type OutboxSettings } from './outbox.js';
export { outboxRoutes } from './routes.js';
export { type OutboxRules, outboxRowsOf, type Told } from './rows.js';
