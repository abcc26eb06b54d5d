// The control side of subscriptions, over HTTP: registering, moving, reading, and the log behind it.
import { beforeAll, describe, expect, it } from 'vitest';
import type { SubscriptionStatus } from '../../packages/client/src/index.js';
import {
  type Id,
  SUBSCRIPTION_ACTIONS,
  SUBSCRIPTION_STATES,
  type SubscriptionAction,
  type SubscriptionState,
} from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ask, get, post } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { workOff } from './support/reports.js';
import { sql } from './support/sql.js';
import { replayed, subscription } from './support/subscriptions.js';

let server: TestServer;
let paths = 0;
beforeAll(async () => {
  server = await startTestServer();
});

/** A path of its own for each test, with a document behind it. */
async function freshPath(): Promise<string> {
  const path = `subscriptions/number_${++paths}`;
  await server.client.register(subscription(path));
  return path;
}

/** Actions that lead from a registration to each state. */
const WAY: Readonly<Record<SubscriptionState, readonly SubscriptionAction[]>> = {
  REGISTERED: [],
  ACTIVE: ['activate'],
  PAUSED: ['activate', 'pause'],
  DRAINING: ['activate', 'drain'],
  DEACTIVATED: ['deactivate'],
};

async function subscriptionIn(state: SubscriptionState): Promise<SubscriptionStatus> {
  let status = await server.client.registerSubscription(await freshPath());
  for (const action of WAY[state]) status = await server.client.moveSubscription(status.subscription_id, action);
  expect(status.state).toBe(state);
  return status;
}

const eventsOf = async (id: string) => (await server.client.subscriptionEvents(id, { order: 'asc' })).events;

describe('registering', () => {
  it.each(['/api/subscriptions', '/api/subscriptions/register'])(
    '%s answers with a new subscription',
    async (route) => {
      const path = await freshPath();
      const { status, body } = await post(server.url, route, { path });
      expect(status).toBe(200);
      expect(body).toEqual({
        subscription_id: expect.stringMatching(/^\d{15,19}$/),
        path,
        catalog_id: (await server.client.catalogResource({ path })).catalog_id,
        state: 'REGISTERED',
        last_event_type: 'subscription.registered',
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      });
    },
  );

  it('again gives the same subscription, as it is by then', async () => {
    const { subscription_id, path } = await subscriptionIn('PAUSED');
    const again = await server.client.registerSubscription(path);
    expect(again).toEqual(await server.client.subscription(subscription_id));
    expect(again.state).toBe('PAUSED');
    expect(await eventsOf(subscription_id)).toHaveLength(3);
  });

  it('again keeps the version of the document that was the newest at first', async () => {
    const path = await freshPath();
    const first = await server.client.registerSubscription(path);
    await server.client.register(subscription(path, { limits: { max_in_flight: 5 } }));
    expect((await server.client.registerSubscription(path)).catalog_id).toBe(first.catalog_id);
  });

  it('after deactivation mints a new id for the newest version, and the old one stays', async () => {
    const { subscription_id: old, path } = await subscriptionIn('DEACTIVATED');
    const { catalog_id } = await server.client.register(subscription(path, { limits: { max_in_flight: 5 } }));
    const fresh = await server.client.registerSubscription(path);
    expect(fresh.subscription_id).not.toBe(old);
    expect(fresh).toMatchObject({ state: 'REGISTERED', catalog_id });
    expect((await server.client.subscription(old)).state).toBe('DEACTIVATED');
  });

  it('a path that the catalog does not know is 404', async () => {
    const { status, body } = await post(server.url, '/api/subscriptions', { path: 'no/such' });
    expect([status, body.error]).toEqual([404, 'Subscription not found: no/such']);
  });

  it('a path that was archived is 404', async () => {
    const path = await freshPath();
    await server.client.catalogDelete({ path });
    expect((await post(server.url, '/api/subscriptions', { path })).status).toBe(404);
  });

  it('a path of another kind is 422 and named', async () => {
    await server.client.register(chain('subscriptions/playbook', 1));
    const { status, body } = await post(server.url, '/api/subscriptions', { path: 'subscriptions/playbook' });
    expect([status, body.error]).toEqual([
      422,
      "Catalog entry 'subscriptions/playbook' is kind 'playbook', not 'subscription'",
    ]);
  });

  it.each([[{}], [{ path: 7 }], [{ path: null }], [{ path: '' }], [[]]])('a body of %j is 422', async (json) => {
    expect((await post(server.url, '/api/subscriptions/register', json)).status).toBe(422);
  });
});

/** What each action leads to from each state; `-` where it is refused. */
const TABLE: Readonly<Record<SubscriptionAction, readonly (SubscriptionState | '-')[]>> = {
  //           REGISTERED     ACTIVE         PAUSED         DRAINING       DEACTIVATED
  activate: ['ACTIVE', 'ACTIVE', 'ACTIVE', '-', 'ACTIVE'],
  pause: ['-', 'PAUSED', 'PAUSED', '-', '-'],
  resume: ['-', 'ACTIVE', 'ACTIVE', '-', '-'],
  drain: ['-', 'DRAINING', 'DRAINING', 'DRAINING', '-'],
  deactivate: ['DEACTIVATED', 'DEACTIVATED', 'DEACTIVATED', 'DEACTIVATED', 'DEACTIVATED'],
};
const EVENT: Readonly<Record<SubscriptionAction, string>> = {
  activate: 'subscription.activated',
  pause: 'subscription.paused',
  resume: 'subscription.resumed',
  drain: 'subscription.draining',
  deactivate: 'subscription.deactivated',
};
const pairs = SUBSCRIPTION_ACTIONS.flatMap((action) =>
  SUBSCRIPTION_STATES.map((state, index) => ({ action, state, to: TABLE[action][index] ?? '-' })),
);

describe('each action from each state', () => {
  it('is looked at', () => {
    expect(pairs).toHaveLength(25);
  });

  it.each(pairs.filter(({ to }) => to !== '-'))('$state: $action leads to $to', async ({ action, state, to }) => {
    const before = await subscriptionIn(state);
    const { status, body } = await ask(server.url, 'POST', `/api/subscriptions/${before.subscription_id}/${action}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      subscription_id: before.subscription_id,
      path: before.path,
      catalog_id: before.catalog_id,
      state: to,
      last_event_type: EVENT[action],
    });
    expect(await server.client.subscription(before.subscription_id)).toEqual(body);
  });

  it.each(pairs.filter(({ to }) => to === '-'))('$state: $action is refused', async ({ action, state }) => {
    const before = await subscriptionIn(state);
    const { status, body } = await ask(server.url, 'POST', `/api/subscriptions/${before.subscription_id}/${action}`);
    expect(status).toBe(422);
    expect(body.error).toContain(`Cannot '${action}' a subscription in state '${state}' (allowed from [`);
    const named = SUBSCRIPTION_STATES.filter((word) =>
      String(body.error).split('allowed from')[1]?.includes(`"${word}"`),
    );
    expect(named).toEqual(SUBSCRIPTION_STATES.filter((_, index) => TABLE[action][index] !== '-'));
    expect(await server.client.subscription(before.subscription_id)).toEqual(before);
    expect(await eventsOf(before.subscription_id)).toHaveLength(WAY[state].length + 1);
  });
});

describe('asking for what is not there', () => {
  it('an unknown action is 422, whatever the id', async () => {
    for (const id of [(await subscriptionIn('ACTIVE')).subscription_id, '7']) {
      const { status, body } = await post(server.url, `/api/subscriptions/${id}/explode`, {});
      expect(status).toBe(422);
      expect(body.error).toContain("Unknown subscription action 'explode'");
    }
  });

  it('an unknown id is 404 for every action, for reading and for the log', async () => {
    const answers = await Promise.all([
      ...SUBSCRIPTION_ACTIONS.map((action) => post(server.url, `/api/subscriptions/7/${action}`, {})),
      get(server.url, '/api/subscriptions/7'),
      get(server.url, '/api/subscriptions/7/events'),
    ]);
    for (const { status, body } of answers) {
      expect([status, body.error]).toEqual([404, 'Subscription 7 not registered']);
    }
  });

  it('something that is no id is 400', async () => {
    expect((await get(server.url, '/api/subscriptions/abc')).status).toBe(400);
    expect((await post(server.url, '/api/subscriptions/abc/pause', {})).status).toBe(400);
  });

  it('the id of an execution is no subscription', async () => {
    await server.client.register(chain('subscriptions/run', 1));
    const { execution_id } = await server.client.execute({ path: 'subscriptions/run' });
    expect((await get(server.url, `/api/subscriptions/${execution_id}`)).status).toBe(404);
  });
});

describe('a deactivated subscription', () => {
  it('can come back while its path has no other', async () => {
    const { subscription_id } = await subscriptionIn('DEACTIVATED');
    expect((await server.client.moveSubscription(subscription_id, 'activate')).state).toBe('ACTIVE');
  });

  it('cannot come back beside a newer one of its path', async () => {
    const old = await subscriptionIn('DEACTIVATED');
    const fresh = await server.client.registerSubscription(old.path);
    const { status, body } = await post(server.url, `/api/subscriptions/${old.subscription_id}/activate`, {});
    expect(status).toBe(409);
    expect(body.error).toContain(fresh.subscription_id);
    expect(await eventsOf(old.subscription_id)).toHaveLength(2);
  });
});

describe('the list', () => {
  it('holds every subscription, deactivated ones too, oldest first', async () => {
    const made = [await subscriptionIn('ACTIVE'), await subscriptionIn('DEACTIVATED'), await subscriptionIn('PAUSED')];
    const { subscriptions } = await server.client.subscriptions();
    expect(subscriptions.slice(-3)).toEqual(made);
  });

  it('can be narrowed to a state or a path', async () => {
    const { path, subscription_id } = await subscriptionIn('DRAINING');
    const { subscriptions } = await server.client.subscriptions({ state: 'DRAINING' });
    expect(new Set(subscriptions.map(({ state }) => state))).toEqual(new Set(['DRAINING']));
    expect((await server.client.subscriptions({ path })).subscriptions).toMatchObject([{ subscription_id }]);
  });

  it('refuses a state that does not exist', async () => {
    expect((await get(server.url, '/api/subscriptions?state=asleep')).status).toBe(400);
  });
});

describe('the log of a subscription', () => {
  it('has one event a transition, without gaps, under the id of the subscription', async () => {
    const { subscription_id, path, catalog_id } = await server.client.registerSubscription(await freshPath());
    for (const action of ['activate', 'pause', 'resume', 'drain', 'deactivate'] as const)
      await server.client.moveSubscription(subscription_id, action);
    const events = await eventsOf(subscription_id);
    expect(events.map(({ event_type, status, stream_version }) => [stream_version, event_type, status])).toEqual([
      [1, 'subscription.registered', 'REGISTERED'],
      [2, 'subscription.activated', 'ACTIVE'],
      [3, 'subscription.paused', 'PAUSED'],
      [4, 'subscription.resumed', 'ACTIVE'],
      [5, 'subscription.draining', 'DRAINING'],
      [6, 'subscription.deactivated', 'DEACTIVATED'],
    ]);
    for (const event of events) {
      expect(event).toMatchObject({
        execution_id: subscription_id,
        catalog_id,
        node_id: 'subscription',
        node_name: path,
        node_type: 'subscription',
        context: { subscription_id, path, catalog_id },
        meta: { emitter: 'control_plane', subscription_lifecycle: true, emitted_at: expect.any(String) },
      });
    }
  });

  it('comes in pages, the newest event first', async () => {
    const { subscription_id } = await subscriptionIn('PAUSED');
    const page = await server.client.subscriptionEvents(subscription_id, { page: 2, page_size: 2 });
    expect(page).toMatchObject({
      state: 'PAUSED',
      events: [{ event_type: 'subscription.registered' }],
      pagination: { page: 2, page_size: 2, total_events: 3, total_pages: 2, has_next: false, has_prev: true },
    });
  });

  it('is no execution', async () => {
    const { subscription_id, catalog_id } = await subscriptionIn('ACTIVE');
    expect(await server.client.listExecutions({ catalog_id })).toEqual([]);
    for (const part of ['', '/status', '/events', '/stream', '/result', '/explain'])
      expect((await get(server.url, `/api/executions/${subscription_id}${part}`)).status, part).toBe(404);
    for (const verb of ['cancel', 'finalize'])
      expect((await post(server.url, `/api/executions/${subscription_id}/${verb}`, { status: 'FAILED' })).status).toBe(
        404,
      );
    expect(await eventsOf(subscription_id)).toHaveLength(2);
  });

  it('is not touched by the executions that it is the parent of', async () => {
    await server.client.register(chain('subscriptions/child', 2));
    const { subscription_id } = await subscriptionIn('ACTIVE');
    const { execution_id } = await server.client.execute({
      path: 'subscriptions/child',
      parent_execution_id: subscription_id,
    });
    await workOff(server.client);
    expect(await server.client.listExecutions({ parent_execution_id: subscription_id })).toMatchObject([
      { execution_id, status: 'COMPLETED' },
    ]);
    expect(await eventsOf(subscription_id)).toHaveLength(2);
  });

  it('ignores what others write into it, and goes on after it', async () => {
    const { subscription_id, catalog_id } = await subscriptionIn('ACTIVE');
    await sql(
      server.database,
      `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, status)
       VALUES ($1, 1, 3, $2, 'subscription.rate_limited', 'RATE_LIMITED')`,
      [subscription_id, catalog_id],
    );
    expect((await server.client.subscription(subscription_id)).state).toBe('ACTIVE');
    await server.client.moveSubscription(subscription_id, 'pause');
    const events = await eventsOf(subscription_id);
    expect(events.map(({ stream_version }) => stream_version)).toEqual([1, 2, 3, 4]);
    expect(replayed(events)?.state).toBe('PAUSED');
  });

  it('folds to the row that the server keeps, for every subscription there is', async () => {
    const rows = await sql<{
      subscription_id: string;
      path: string;
      catalog_id: string;
      state: SubscriptionState;
      revision: string;
      last_event_type: string;
      last_event_id: string;
      updated_at: Date;
    }>(server.database, 'SELECT * FROM noetl.subscription');
    expect(rows.length).toBeGreaterThan(25);
    for (const row of rows) {
      const record = replayed(await eventsOf(row.subscription_id));
      expect(record).toEqual({
        subscriptionId: row.subscription_id,
        path: row.path,
        catalogId: row.catalog_id,
        state: row.state,
        revision: Number(row.revision),
        lastEventType: row.last_event_type,
        lastEventId: row.last_event_id as Id,
        updatedAt: expect.any(String),
      });
      expect(Date.parse(record?.updatedAt ?? '')).toBe(row.updated_at.getTime());
    }
  });
});
