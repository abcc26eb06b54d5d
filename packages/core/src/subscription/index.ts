// Subscriptions: the document that describes one, the states it goes through, and the fold of its log.
export { type CheckedDocument, checkDocument } from './check-document.js';
export * from './lifecycle.js';
export {
  evolveSubscription,
  foldSubscription,
  type LifecycleEvent,
  lifecycleEvent,
  type SubscriptionRecord,
} from './log.js';
export type {
  Ingress,
  PullDelivery,
  PushDelivery,
  Spool,
  Subscription,
  SubscriptionSource,
  SubscriptionSpec,
  Verification,
} from './model.js';
export { type CheckedSubscription, checkSubscription } from './parse.js';
