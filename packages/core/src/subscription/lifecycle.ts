// The life of a subscription, as a table. A state changes only through `decideSubscription`; the log and the read model follow.
//
//   register ─► REGISTERED ─► ACTIVE ⇄ PAUSED ─► DRAINING ─► DEACTIVATED
//
// Most actions are also allowed where they change nothing, so that a runtime that is not sure whether it was heard can ask again.

export const SUBSCRIPTION_STATES = ['REGISTERED', 'ACTIVE', 'PAUSED', 'DRAINING', 'DEACTIVATED'] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

export const SUBSCRIPTION_ACTIONS = ['activate', 'pause', 'resume', 'drain', 'deactivate'] as const;
export type SubscriptionAction = (typeof SUBSCRIPTION_ACTIONS)[number];

/** Each event type of the lifecycle, and the state that a subscription is in after it. */
export const SUBSCRIPTION_EVENTS = {
  'subscription.registered': 'REGISTERED',
  'subscription.activated': 'ACTIVE',
  'subscription.paused': 'PAUSED',
  'subscription.resumed': 'ACTIVE',
  'subscription.draining': 'DRAINING',
  'subscription.deactivated': 'DEACTIVATED',
} as const satisfies Readonly<Record<string, SubscriptionState>>;
export type SubscriptionEventType = keyof typeof SUBSCRIPTION_EVENTS;

interface Transition {
  readonly event: SubscriptionEventType;
  readonly from: readonly SubscriptionState[];
}

const TRANSITIONS: Readonly<Record<SubscriptionAction, Transition>> = {
  activate: { event: 'subscription.activated', from: ['REGISTERED', 'PAUSED', 'DEACTIVATED', 'ACTIVE'] },
  pause: { event: 'subscription.paused', from: ['ACTIVE', 'PAUSED'] },
  resume: { event: 'subscription.resumed', from: ['PAUSED', 'ACTIVE'] },
  drain: { event: 'subscription.draining', from: ['ACTIVE', 'PAUSED', 'DRAINING'] },
  deactivate: { event: 'subscription.deactivated', from: SUBSCRIPTION_STATES },
};

export type SubscriptionDecision =
  | { readonly allowed: true; readonly event: SubscriptionEventType }
  | { readonly allowed: false; readonly allowedFrom: readonly SubscriptionState[] };

export function decideSubscription(state: SubscriptionState, action: SubscriptionAction): SubscriptionDecision {
  const { event, from } = TRANSITIONS[action];
  return from.includes(state) ? { allowed: true, event } : { allowed: false, allowedFrom: from };
}

/** What may be asked of a subscription in this state. */
export function actionsFrom(state: SubscriptionState): SubscriptionAction[] {
  return SUBSCRIPTION_ACTIONS.filter((action) => TRANSITIONS[action].from.includes(state));
}

export function isSubscriptionAction(word: string): word is SubscriptionAction {
  return (SUBSCRIPTION_ACTIONS as readonly string[]).includes(word);
}

export function isSubscriptionState(word: string): word is SubscriptionState {
  return (SUBSCRIPTION_STATES as readonly string[]).includes(word);
}
