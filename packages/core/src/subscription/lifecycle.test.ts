import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idFromTimestampMs, parseId } from '../ids/index.js';
import {
  actionsFrom,
  decideSubscription,
  evolveSubscription,
  foldSubscription,
  isSubscriptionAction,
  isSubscriptionState,
  lifecycleEvent,
  SUBSCRIPTION_ACTIONS,
  SUBSCRIPTION_EVENTS,
  SUBSCRIPTION_STATES,
  type SubscriptionRecord,
} from './index.js';

const SUBSCRIPTION_ID = idFromTimestampMs(Date.UTC(2026, 10, 16));
const CATALOG_ID = parseId(7) ?? SUBSCRIPTION_ID;

const eventAt = (streamVersion: number, type: keyof typeof SUBSCRIPTION_EVENTS) =>
  lifecycleEvent({
    subscriptionId: SUBSCRIPTION_ID,
    path: 'subscriptions/orders',
    catalogId: CATALOG_ID,
    type,
    // Servers' clocks differ: a later event may have a smaller id.
    eventId: idFromTimestampMs(Date.UTC(2026, 10, 17) - streamVersion),
    streamVersion,
    at: new Date(Date.UTC(2026, 10, 17, 0, 0, streamVersion)).toISOString(),
  });

describe('what may be asked', () => {
  it.each([
    ['REGISTERED', ['activate', 'deactivate']],
    ['ACTIVE', ['activate', 'pause', 'resume', 'drain', 'deactivate']],
    ['PAUSED', ['activate', 'pause', 'resume', 'drain', 'deactivate']],
    ['DRAINING', ['drain', 'deactivate']],
    ['DEACTIVATED', ['activate', 'deactivate']],
  ] as const)('of a subscription that is %s: %j', (state, actions) => {
    expect(actionsFrom(state)).toEqual(actions);
  });

  it('is refused elsewhere, with the states it is allowed from', () => {
    expect(decideSubscription('DRAINING', 'pause')).toEqual({ allowed: false, allowedFrom: ['ACTIVE', 'PAUSED'] });
  });

  it.each(['toString', 'ACTIVATE', '', 'constructor'])('is not "%s"', (word) => {
    expect(isSubscriptionAction(word)).toBe(false);
    expect(isSubscriptionState(word)).toBe(false);
  });
});

describe('the fold of a log', () => {
  const actions = fc.array(fc.constantFrom(...SUBSCRIPTION_ACTIONS), { maxLength: 40 });
  const noise = fc.constantFrom(
    'subscription.rate_limited',
    'subscription.message.dropped',
    'playbook.completed',
    'toString',
  );

  it('is the state that the decisions led to, whatever else is in the log', () => {
    fc.assert(
      fc.property(actions, fc.array(noise, { maxLength: 3 }), (asked, between) => {
        const log = [eventAt(1, 'subscription.registered')];
        let live = evolveSubscription(undefined, eventAt(1, 'subscription.registered')) as SubscriptionRecord;
        let transitions = 1;
        for (const action of asked) {
          for (const event_type of between)
            log.push({ ...eventAt(log.length + 1, 'subscription.paused'), event_type, status: 'PAUSED' });
          const decision = decideSubscription(live.state, action);
          if (!decision.allowed) continue;
          const event = eventAt(log.length + 1, decision.event);
          log.push(event);
          live = evolveSubscription(live, event) as SubscriptionRecord;
          transitions++;
          expect(live.state).toBe(event.status);
        }
        expect(foldSubscription(log)).toEqual(live);
        expect(live.revision).toBe(transitions);
      }),
    );
  });

  it('is the same in two parts as in one', () => {
    const types = fc.array(
      fc.constantFrom(...(Object.keys(SUBSCRIPTION_EVENTS) as (keyof typeof SUBSCRIPTION_EVENTS)[])),
    );
    fc.assert(
      fc.property(types, fc.nat(), (list, cut) => {
        const log = list.map((type, index) => eventAt(index + 1, type));
        const at = cut % (log.length + 1);
        let record = foldSubscription(log.slice(0, at));
        for (const row of log.slice(at)) record = evolveSubscription(record, row);
        expect(record).toEqual(foldSubscription(log));
      }),
    );
  });

  it('is not moved by what a client announces', () => {
    const log = [
      eventAt(1, 'subscription.registered'),
      { ...eventAt(2, 'subscription.activated'), meta: { external: true } },
    ];
    expect(foldSubscription(log)).toMatchObject({ state: 'REGISTERED', revision: 1 });
  });

  it('is nothing for a log without a lifecycle', () => {
    expect(foldSubscription([])).toBeUndefined();
    expect(
      foldSubscription([{ ...eventAt(1, 'subscription.paused'), event_type: 'playbook_started' }]),
    ).toBeUndefined();
  });

  it('knows each state', () => {
    expect(new Set(Object.values(SUBSCRIPTION_EVENTS))).toEqual(new Set(SUBSCRIPTION_STATES));
  });
});
