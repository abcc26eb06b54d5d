// Two servers that act on the same subscriptions at the same moment, on one database and on three.
import fc from 'fast-check';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { ApiError, type SubscriptionStatus } from '../../packages/client/src/index.js';
import {
  decideSubscription,
  type Id,
  SUBSCRIPTION_ACTIONS,
  SUBSCRIPTION_EVENTS,
  type SubscriptionAction,
  type SubscriptionState,
  shardFor,
} from '../../packages/core/src/index.js';
import type { TestDatabase } from '../support/postgres.js';
import { ownDatabase, startTestServer, type TestServer } from '../support/server.js';
import { sql } from './support/sql.js';
import { replayed, subscription } from './support/subscriptions.js';

const dsn = ({ url, name }: TestDatabase) => {
  const { hostname, port, username, password } = new URL(url);
  return `host=${hostname};port=${port};user=${username};password=${decodeURIComponent(password)};database=${name}`;
};

/** Somebody waits for a lock of somebody else. */
async function untilBlocked(database: TestDatabase): Promise<void> {
  const query = `SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
  while ((await sql(database, query, [database.name])).length === 0);
}

describe.each([1, 3])('two servers on %d shards', (shards) => {
  let servers: readonly TestServer[];
  let databases: readonly TestDatabase[];
  let paths = 0;
  beforeAll(async () => {
    databases = await Promise.all(Array.from({ length: shards }, () => ownDatabase()));
    const database = databases[0] as TestDatabase;
    const env = { NOETL_SHARDS: databases.map(dsn).join(',') };
    servers = await Promise.all([startTestServer({ database, env }), startTestServer({ database, env })]);
  });

  /** Calls alternate between the servers. */
  const client = (call: number) => (servers[call % 2] as TestServer).client;

  async function freshPath(): Promise<string> {
    const path = `races/number_${++paths}`;
    await client(0).register(subscription(path));
    return path;
  }

  const eventsOf = async (id: string) =>
    (await client(0).subscriptionEvents(id, { order: 'asc', page_size: 500 })).events;

  /** Undefined where the server refused, for a reason that only the state can give. */
  async function tryMove(
    call: number,
    id: string,
    action: SubscriptionAction,
  ): Promise<SubscriptionStatus | undefined> {
    try {
      return await client(call).moveSubscription(id, action);
    } catch (error) {
      if (error instanceof ApiError && (error.status === 422 || error.status === 409)) return undefined;
      throw error;
    }
  }

  /** The log has no gap, each event was allowed when it was written, and the row is its fold. */
  async function checkLog(id: string): Promise<SubscriptionState[]> {
    const events = await eventsOf(id);
    expect(events.map(({ stream_version }) => stream_version)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]?.event_type).toBe('subscription.registered');
    const states = events.map(({ status }) => status as SubscriptionState);
    for (const [index, { event_type }] of events.entries()) {
      expect(states[index]).toBe(SUBSCRIPTION_EVENTS[event_type as keyof typeof SUBSCRIPTION_EVENTS]);
      const before = states[index - 1];
      if (before === undefined) continue;
      const decisions = SUBSCRIPTION_ACTIONS.map((action) => decideSubscription(before, action));
      expect(decisions).toContainEqual({ allowed: true, event: event_type });
    }
    const record = replayed(events);
    const row = await client(1).subscription(id);
    expect({
      subscription_id: record?.subscriptionId,
      path: record?.path,
      catalog_id: record?.catalogId,
      state: record?.state,
      last_event_type: record?.lastEventType,
      updated_at: record?.updatedAt,
    }).toEqual(row);
    return states;
  }

  it('twenty callers at once register one subscription', async () => {
    for (let round = 0; round < 5; round++) {
      const path = await freshPath();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, call) => client(call).registerSubscription(path)),
      );
      expect(new Set(answers.map(({ subscription_id }) => subscription_id)).size).toBe(1);
      const { subscriptions } = await client(0).subscriptions({ path });
      expect(subscriptions).toEqual([answers[0]]);
      expect(await checkLog(subscriptions[0]?.subscription_id ?? '')).toEqual(['REGISTERED']);
    }
  });

  it('every transition that was answered is one event, and none else is', async () => {
    const asked = fc.array(fc.constantFrom(...SUBSCRIPTION_ACTIONS), { minLength: 2, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(asked, async (actions) => {
        const { subscription_id } = await client(0).registerSubscription(await freshPath());
        const answers = await Promise.all(actions.map((action, call) => tryMove(call, subscription_id, action)));
        const states = await checkLog(subscription_id);
        const answered = answers.flatMap((answer) => (answer === undefined ? [] : [answer.last_event_type]));
        const logged = (await eventsOf(subscription_id)).slice(1).map(({ event_type }) => event_type);
        expect([...answered].sort()).toEqual([...logged].sort());
        expect(states).toHaveLength(answered.length + 1);
      }),
      { numRuns: 15 },
    );
  });

  it('one wins when some register a path and others bring its old subscriptions back', async () => {
    const path = await freshPath();
    const ended: string[] = [];
    for (let round = 0; round < 8; round++) {
      // Every other round nobody comes back, so there are more and more that could.
      const returning = round % 2 === 0 ? [] : ended;
      const [registered] = await Promise.all([
        Promise.all(Array.from({ length: 8 }, (_, call) => client(call).registerSubscription(path))),
        Promise.all(returning.map((id, call) => tryMove(call, id, 'activate'))),
      ]);
      const { subscriptions } = await client(round).subscriptions({ path });
      const [winner, ...others] = subscriptions.filter(({ state }) => state !== 'DEACTIVATED');
      expect(others).toEqual([]);
      const id = winner?.subscription_id ?? '';
      expect(new Set(registered.map(({ subscription_id }) => subscription_id))).toEqual(new Set([id]));
      await client(round).moveSubscription(id, 'deactivate');
      if (!ended.includes(id)) ended.push(id);
    }
    expect(ended.length).toBeGreaterThanOrEqual(4);
    for (const id of ended) await checkLog(id);
  });

  it('a path never has two living subscriptions while they come and go', async () => {
    const path = await freshPath();
    const seen = new Set<string>();
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 12 }, async (_, call) => {
          const { subscription_id } = await client(call).registerSubscription(path);
          seen.add(subscription_id);
          if (call % 3 === 0) await tryMove(call + 1, subscription_id, 'deactivate');
          if (call % 4 === 0) await tryMove(call, subscription_id, 'activate');
        }),
      );
      const { subscriptions } = await client(round).subscriptions({ path });
      expect(subscriptions.filter(({ state }) => state !== 'DEACTIVATED').length).toBeLessThanOrEqual(1);
      expect(new Set(subscriptions.map(({ subscription_id }) => subscription_id))).toEqual(seen);
    }
    for (const id of seen) await checkLog(id);
  });

  it('an event that somebody else writes at the same moment takes its place in the log, and the transition the next', async () => {
    const { subscription_id, catalog_id } = await client(0).registerSubscription(await freshPath());
    const database = databases[shardFor(subscription_id as Id, shards)] as TestDatabase;
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query(
        `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, status)
         VALUES ($1, 1, 2, $2, 'subscription.rate_limited', 'RATE_LIMITED')`,
        [subscription_id, catalog_id],
      );
      const activated = client(1).moveSubscription(subscription_id, 'activate');
      await untilBlocked(database);
      await other.query('COMMIT');
      expect((await activated).state).toBe('ACTIVE');
    } finally {
      await other.end();
    }
    const events = await eventsOf(subscription_id);
    expect(events.map(({ stream_version, event_type }) => [stream_version, event_type])).toEqual([
      [1, 'subscription.registered'],
      [2, 'subscription.rate_limited'],
      [3, 'subscription.activated'],
    ]);
  });

  it('each subscription is on the shard of its id, row and log, and the list is one', async () => {
    const made: string[] = [];
    for (let n = 0; n < 20; n++) made.push((await client(n).registerSubscription(await freshPath())).subscription_id);
    expect(new Set(made.map((id) => shardFor(id as Id, shards))).size).toBe(shards);
    const listed = (await client(0).subscriptions()).subscriptions.map(({ subscription_id }) => subscription_id);
    expect(listed).toEqual([...listed].sort((a, b) => Number(BigInt(a) - BigInt(b))));
    expect(listed).toEqual(expect.arrayContaining(made));
    for (const [index, database] of databases.entries()) {
      const expected = listed.filter((id) => shardFor(id as Id, shards) === index).sort();
      for (const query of [
        'SELECT subscription_id AS id FROM noetl.subscription',
        'SELECT DISTINCT execution_id AS id FROM noetl.event',
      ]) {
        const rows = await sql<{ id: string }>(database, query);
        expect(rows.map(({ id }) => id).sort()).toEqual(expected);
      }
    }
  });
});
