// Retention: what is old goes, what is alive stays, and nothing else is touched.
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { idFromTimestampMs, type JsonObject } from '../../../packages/core/src/index.js';
import type { TestDatabase } from '../../support/postgres.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { ask, get } from '../support/ask.js';
import { chain } from '../support/playbooks.js';
import { workOff } from '../support/reports.js';
import { sql } from '../support/sql.js';
import { putRows } from './outbox-rows.js';
import { BEARER, internalPost, startInternalServer, startShardedServer } from './support.js';

let server: TestServer;

beforeAll(async () => {
  server = await startInternalServer();
  await server.client.register(chain('kept/two', 2));
});

const purge = async (body: unknown = {}): Promise<JsonObject> =>
  (await internalPost(server, 'cleanup/purge', body)).body;
const count = async (table: string, database: TestDatabase = server.database): Promise<number> => {
  const [row] = await sql<{ n: number }>(database, `SELECT count(*)::int AS n FROM ${table}`);
  return row?.n ?? 0;
};
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

async function runOne(): Promise<string> {
  const { execution_id } = await server.client.execute({ path: 'kept/two' });
  await workOff(server.client);
  return execution_id;
}

describe('an empty policy', () => {
  it.each([
    ['no body', undefined],
    ['an empty object', {}],
  ])('with %s removes nothing that is young', async (_, json) => {
    await runOne();
    const answer = await ask(server.url, 'POST', '/api/internal/cleanup/purge', { json, headers: BEARER });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({ commands_purged: 0, runtime_purged: 0, events_purged: 0 });
  });

  it.each(['x', [1], { command_retention_days: 'x' }])('refuses the body %j with 422', async (body) => {
    expect((await internalPost(server, 'cleanup/purge', body)).status).toBe(422);
  });
});

describe('commands', () => {
  it('go seven days after their end, and their events stay', async () => {
    const [old, young] = [await runOne(), await runOne()];
    await sql(server.database, 'UPDATE noetl.command SET completed_at = $2 WHERE execution_id = $1', [
      old,
      daysAgo(7.1),
    ]);
    await sql(server.database, 'UPDATE noetl.command SET completed_at = $2 WHERE execution_id = $1', [
      young,
      daysAgo(6.9),
    ]);
    const events = await count('noetl.event');
    expect(await purge()).toMatchObject({ commands_purged: 2 });
    expect(await count(`noetl.command WHERE execution_id = ${young}`)).toBe(2);
    expect(await count('noetl.event')).toBe(events);
    expect((await server.client.status(old)).status).toBe('COMPLETED');
  });

  it('stay while they are open, however old', async () => {
    const { execution_id } = await server.client.execute({ path: 'kept/two' });
    await sql(server.database, 'UPDATE noetl.command SET created_at = $2 WHERE execution_id = $1', [
      execution_id,
      daysAgo(99),
    ]);
    await purge();
    await workOff(server.client);
    expect((await server.client.status(execution_id)).status).toBe('COMPLETED');
  });

  it.each([0, -1])('stay for ever with %i days', async (command_retention_days) => {
    const id = await runOne();
    await sql(server.database, 'UPDATE noetl.command SET completed_at = $2 WHERE execution_id = $1', [
      id,
      daysAgo(999),
    ]);
    expect(await purge({ command_retention_days })).toMatchObject({ commands_purged: 0 });
  });
});

describe('workers', () => {
  it('go an hour after their last sign of life; other runtimes stay', async () => {
    const put = (name: string, kind: string, minutes: number) =>
      sql(
        server.database,
        `INSERT INTO noetl.runtime (runtime_id, name, kind, status, heartbeat) VALUES ($1, $2, $3, 'ready', now() - $4 * interval '1 minute')`,
        [Math.floor(Math.random() * 1e9), name, kind, minutes],
      );
    await put('silent', 'worker_pool', 61);
    await put('young', 'worker_pool', 59);
    await put('broker', 'broker', 999);
    expect(await purge()).toMatchObject({ runtime_purged: 1 });
    expect(await count(`noetl.runtime WHERE name IN ('young', 'broker')`)).toBe(2);
    expect(await purge({ runtime_stale_minutes: 0 })).toMatchObject({ runtime_purged: 0 });
  });
});

describe('everything else', () => {
  it('published outbox rows go after a day; others stay', async () => {
    await putRows(server.database, 2, { status: 'PUBLISHED', published_at: daysAgo(1.1) });
    await putRows(server.database, 1, { status: 'PUBLISHED', published_at: daysAgo(0.9) });
    await putRows(server.database, 1, { status: 'DEAD', created_at: daysAgo(99) });
    await putRows(server.database, 1, { created_at: daysAgo(99) });
    expect(await purge()).toMatchObject({ outbox_purged: 2 });
    expect(await count('noetl.outbox')).toBe(3);
  });

  it('results without an end of their own and variables go when their execution has ended, and stay while it runs', async () => {
    const ended = await runOne();
    const { execution_id: running } = await server.client.execute({ path: 'kept/two' });
    const putResult = (resultId: number, id: string, scope: string, expires: Date | null) =>
      sql(
        server.database,
        `INSERT INTO noetl.result_store (result_id, execution_id, name, scope, data, bytes, sha256, created_at, expires_at)
         VALUES ($1, $2, 'r', $3, '{}', 2, gen_random_uuid()::text, $4, $5)`,
        [resultId, id, scope, daysAgo(31), expires],
      );
    await putResult(11, ended, 'permanent', null);
    await putResult(12, ended, 'execution', daysAgo(-1));
    for (const [index, id] of [ended, running].entries()) {
      await putResult(index + 1, id, 'execution', null);
      await sql(
        server.database,
        `INSERT INTO noetl.transient (execution_id, var_name, var_type, var_value, accessed_at) VALUES ($1, 'v', 'computed', '1', $2)`,
        [id, daysAgo(8)],
      );
    }
    expect(await purge()).toMatchObject({ result_purged: 1, transient_purged: 1 });
    expect(await count(`noetl.result_store WHERE execution_id = ${running}`)).toBe(1);
    expect(await count(`noetl.transient WHERE execution_id = ${running}`)).toBe(1);
    await workOff(server.client);
  });

  it('snapshots go a week after the end of their execution', async () => {
    const [old, young] = [await runOne(), await runOne()];
    await internalPost(server, 'projection/advance', { execution_ids: [old, young] });
    await sql(server.database, 'UPDATE noetl.execution SET end_time = $2 WHERE execution_id = $1', [old, daysAgo(8)]);
    expect(await purge()).toMatchObject({ snapshot_purged: 1 });
    expect(await count(`noetl.projection_snapshot WHERE aggregate_id = '${young}'`)).toBe(1);
  });

  it('keys of messages go after a week, expired secrets at once, keys of starts never', async () => {
    await sql(
      server.database,
      `INSERT INTO noetl.subscription_dedup (subscription_id, dedup_key, execution_id, seen_at) VALUES (1, 'old', 1, $1), (1, 'young', 1, now())`,
      [daysAgo(8)],
    );
    await sql(
      server.database,
      `INSERT INTO noetl.keychain (cache_key, keychain_name, catalog_id, credential_type, cache_type, scope_type, data_encrypted, expires_at)
       VALUES ('expired', 'k', 1, 't', 'token', 'global', 'x', now() - interval '1 s'), ('valid', 'k', 1, 't', 'token', 'global', 'x', now() + interval '1 h')`,
    );
    await sql(
      server.database,
      `INSERT INTO noetl.idempotency (scope, key, execution_id, request_hash, created_at) VALUES ('execute', 'old', 1, 'x', $1)`,
      [daysAgo(999)],
    );
    expect(await purge()).toMatchObject({ dedup_purged: 1, keychain_purged: 1 });
    expect(await count('noetl.idempotency')).toBe(1);
    expect(await purge({ idempotency_retention_days: 90 })).toMatchObject({ idempotency_purged: 1 });
  });

  it('is counted by table', async () => {
    const { text } = await get(server.url, '/metrics');
    expect(text).toMatch(/^noetl_cleanup_rows_purged_total\{table="outbox"\} 2$/m);
    expect(text).toMatch(/^noetl_cleanup_rows_purged_total\{table="event_partition"\} 0$/m);
  });
});

describe('a dry run', () => {
  it('counts what would go and removes nothing', async () => {
    const id = await runOne();
    await sql(server.database, 'UPDATE noetl.command SET completed_at = $2 WHERE execution_id = $1', [id, daysAgo(8)]);
    expect(await purge({ dry_run: true })).toEqual({
      commands_purged: 2,
      runtime_purged: 0,
      events_purged: 0,
      dry_run: true,
    });
    expect(await purge()).toMatchObject({ commands_purged: 2 });
  });
});

describe('partitions of the log', () => {
  let serial = 0;

  /** The log of an execution that began on that day and, unless it still runs, ended on it. */
  async function oldExecution(date: string, running = false): Promise<string> {
    const id = (BigInt(idFromTimestampMs(Date.parse(date))) + BigInt(++serial)).toString();
    const event = (event_type: string) => ({
      event_id: String(BigInt(id) + BigInt(++serial)),
      execution_id: id,
      event_type,
      node_name: 'playbook',
      timestamp: date,
    });
    const events = running ? ['playbook_started'] : ['playbook_started', 'playbook.completed'];
    await internalPost(server, 'events/project', { events: events.map(event) });
    return id;
  }

  const names = async () => {
    const rows = await sql<{ name: string }>(
      server.database,
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'noetl.event'::regclass`,
    );
    return rows.map((row) => row.name);
  };

  it('are kept unless somebody asks', async () => {
    await oldExecution('2024-02-10T00:00:00Z');
    expect(await purge()).toMatchObject({ events_purged: 0 });
    expect(await names()).toContain('event_2024_02');
  });

  it('are dropped as a whole when all of them is old, with the executions in them', async () => {
    const [old, current] = [await oldExecution('2024-02-11T00:00:00Z'), await runOne()];
    const answer = await purge({ event_retention_days: 365 });
    expect(answer).toMatchObject({ events_purged: 1, event_partitions_dropped: ['event_2024_02'] });
    expect(await names()).not.toContain('event_2024_02');
    expect((await get(server.url, `/api/executions/${old}/status`)).status).toBe(404);
    expect((await server.client.status(current)).status).toBe('COMPLETED');
  });

  it('are only named by a dry run', async () => {
    await oldExecution('2024-03-10T00:00:00Z');
    expect(await purge({ event_retention_days: 365, dry_run: true })).toMatchObject({
      event_partitions_dropped: ['event_2024_03'],
    });
    expect(await names()).toContain('event_2024_03');
    await purge({ event_retention_days: 365 });
  });

  it('stay while an execution in them runs', async () => {
    await oldExecution('2024-04-10T00:00:00Z');
    const running = await oldExecution('2024-04-11T00:00:00Z', true);
    expect(await purge({ event_retention_days: 365 })).toMatchObject({
      events_purged: 0,
      event_partitions_kept: ['event_2024_04'],
    });
    await server.client.cancel(running, { reason: 'enough' }).catch(() => undefined);
    await sql(server.database, `UPDATE noetl.execution SET status = 'CANCELLED' WHERE execution_id = $1`, [running]);
    expect(await purge({ event_retention_days: 365 })).toMatchObject({ events_purged: 1 });
  });

  it('stay while a subscription lives in them', async () => {
    const id = await oldExecution('2024-05-10T00:00:00Z');
    await sql(
      server.database,
      `INSERT INTO noetl.subscription (subscription_id, path, catalog_id, state, last_event_type, last_event_id)
       VALUES ($1::bigint + 1, 's', 1, 'ACTIVE', 'subscription.activated', 1)`,
      [id],
    );
    expect(await purge({ event_retention_days: 365 })).toMatchObject({ event_partitions_kept: ['event_2024_05'] });
    await sql(server.database, `UPDATE noetl.subscription SET state = 'DEACTIVATED'`);
    expect(await purge({ event_retention_days: 365 })).toMatchObject({ event_partitions_dropped: ['event_2024_05'] });
  });

  it('that a crash left detached are dropped the next time; those of others are not', async () => {
    await oldExecution('2024-06-10T00:00:00Z');
    await sql(server.database, 'ALTER TABLE noetl.event DETACH PARTITION noetl.event_2024_06');
    await sql(server.database, `COMMENT ON TABLE noetl.event_2024_06 IS 'noetl: retention, to be dropped'`);
    await sql(server.database, 'CREATE TABLE noetl.event_archive (id int)');
    await purge({ event_retention_days: 365 });
    const [row] = await sql(
      server.database,
      `SELECT to_regclass('noetl.event_2024_06') AS gone, to_regclass('noetl.event_archive') IS NOT NULL AS kept`,
    );
    expect(row).toEqual({ gone: null, kept: true });
  });

  it('come back when something in them came to life while they were on their way out', async () => {
    const old = await oldExecution('2024-08-10T00:00:00Z');
    // Marking the partition is the last thing that happens before it is detached.
    await sql(
      server.database,
      `CREATE FUNCTION come_to_life() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
         UPDATE noetl.execution SET status = 'RUNNING' WHERE execution_id = ${old}; END $$;
       CREATE EVENT TRIGGER on_mark ON ddl_command_end WHEN TAG IN ('COMMENT') EXECUTE FUNCTION come_to_life()`,
    );
    expect(await purge({ event_retention_days: 365 })).toMatchObject({
      events_purged: 0,
      event_partitions_kept: ['event_2024_08'],
    });
    await sql(server.database, 'DROP EVENT TRIGGER on_mark');
    expect(await count(`noetl.event WHERE execution_id = ${old}`)).toBe(2);
    await sql(server.database, `UPDATE noetl.execution SET status = 'COMPLETED' WHERE execution_id = ${old}`);
    expect(await purge({ event_retention_days: 365 })).toMatchObject({ event_partitions_dropped: ['event_2024_08'] });
  });

  it('are dropped while executions run', async () => {
    await oldExecution('2024-07-10T00:00:00Z');
    const runs = Promise.all(Array.from({ length: 20 }, () => server.client.execute({ path: 'kept/two' })));
    const [answer, started] = await Promise.all([purge({ event_retention_days: 365 }), runs]);
    await workOff(server.client);
    expect(answer).toMatchObject({ event_partitions_dropped: ['event_2024_07'] });
    const statuses = await Promise.all(started.map((run) => server.client.status(run.execution_id)));
    expect(new Set(statuses.map((status) => status.status))).toEqual(new Set(['COMPLETED']));
  });
});

describe('over several shards', () => {
  it('every one of them is cleaned', async () => {
    const { server: sharded, databases } = await startShardedServer(2);
    for (const database of databases) {
      await putRows(database, 2, { status: 'PUBLISHED', published_at: daysAgo(2) });
    }
    expect((await internalPost(sharded, 'cleanup/purge', {})).body).toMatchObject({ outbox_purged: 4 });
  });
});

describe('a server by itself', () => {
  it('cleans up on its own, after its own policy', async () => {
    const alone = await startTestServer({
      env: { NOETL_CLEANUP_INTERVAL_SECONDS: '1', NOETL_CLEANUP_POLICY: '{"outbox_retention_hours": 1}' },
    });
    await putRows(alone.database, 3, { status: 'PUBLISHED', published_at: daysAgo(0.5) });
    while ((await count('noetl.outbox', alone.database)) > 0) await delay(50);
    expect(await count("noetl.leader_lease WHERE name = 'cleanup'", alone.database)).toBe(1);
  });

  it('refuses to start with a policy that it cannot read', async () => {
    await expect(startTestServer({ env: { NOETL_CLEANUP_POLICY: '{"dry_run": 7}' } })).rejects.toThrow(
      /NOETL_CLEANUP_POLICY.*dry_run/,
    );
  });
});
