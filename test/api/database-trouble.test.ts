// What a database that misbehaves may cost: an attempt, never a busy server and never a second event.
import { describe, expect, it } from 'vitest';
import { ownDatabase, startTestServer } from '../support/server.js';
import { post } from './support/ask.js';
import { flakyPostgres } from './support/flaky-postgres.js';
import { chain } from './support/playbooks.js';
import { leaseOne } from './support/reports.js';
import { sql } from './support/sql.js';

describe('a claim that the database refuses', () => {
  it('is tried once for each time a worker asks, and the command stays for later', async () => {
    const { client, database } = await startTestServer();
    await client.register(chain('trouble/claim', 1));
    const { execution_id } = await client.execute({ path: 'trouble/claim' });
    // A sequence counts what is rolled back, too. After 50 tries it gives in, so that a busy loop ends as a failed test.
    await sql(database, 'CREATE SEQUENCE tries');
    await sql(
      database,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF nextval('public.tries') <= 50 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$`,
    );
    await sql(
      database,
      `CREATE TRIGGER refuse BEFORE INSERT ON noetl.event FOR EACH ROW
         WHEN (NEW.event_type = 'command.claimed') EXECUTE FUNCTION refuse()`,
    );

    const { commands } = await client.lease({ worker_id: 'w1', pools: ['shared'], max: 1, wait_ms: 0 });
    expect(commands).toEqual([]);
    expect(await sql(database, 'SELECT last_value::int AS tries FROM tries')).toEqual([{ tries: 1 }]);

    await sql(database, 'DROP TRIGGER refuse ON noetl.event');
    expect(await leaseOne(client)).toMatchObject({ execution_id, attempt: 1 });
  });
});

describe('a connection that breaks after the commit, before the answer', () => {
  it.each([
    ['one event', (event: object) => ['/api/events', event] as const],
    [
      'a batch',
      ({ execution_id, ...event }: { execution_id: string }) =>
        ['/api/events/batch', { execution_id, events: [event] }] as const,
    ],
  ])('leaves %s without an id stored once, and answered with the id it was stored under', async (_, request) => {
    const database = await ownDatabase();
    const postgres = await flakyPostgres(database.url);
    const server = await startTestServer({ database, env: { DATABASE_URL: postgres.url } });
    try {
      await server.client.register(chain('trouble/append', 1));
      const { execution_id } = await server.client.execute({ path: 'trouble/append' });
      postgres.loseAnswerTo('parcel.shipped');
      const [path, body] = request({
        execution_id,
        ...{ step: 'start', event_type: 'parcel.shipped', payload: { n: 1 } },
      });
      const answer = await post(server.url, path, body);
      expect({ status: answer.status, lost: postgres.lost }).toEqual({ status: 200, lost: 1 });
      const stored = await sql<{ id: string }>(
        database,
        `SELECT event_id::text AS id FROM noetl.event WHERE execution_id = $1 AND event_type = 'parcel.shipped'`,
        [execution_id],
      );
      expect(stored).toHaveLength(1);
      expect(answer.text).toContain(stored[0]?.id);
    } finally {
      await server.close();
      await postgres.close();
    }
  });
});
