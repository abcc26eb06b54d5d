// The outbox as a publisher outside the server sees it.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../packages/core/src/index.js';
import type { TestDatabase } from '../../support/postgres.js';
import type { TestServer } from '../../support/server.js';
import { ask, get, post } from '../support/ask.js';
import { sql } from '../support/sql.js';
import { putRows, rowOf } from './outbox-rows.js';
import { BEARER, internalGet, internalPost, startInternalServer, startShardedServer } from './support.js';

let server: TestServer;

beforeAll(async () => {
  server = await startInternalServer({ env: { NOETL_OUTBOX_MAX_ATTEMPTS: '3' } });
});
beforeEach(async () => {
  await sql(server.database, 'TRUNCATE noetl.outbox');
});

const claim = async (body: unknown = {}): Promise<JsonObject[]> =>
  (await internalPost(server, 'outbox/claim', body)).body.rows as JsonObject[];
const idOf = (row: JsonObject | undefined) => String(row?.outbox_id);

describe('claiming', () => {
  it('hands out rows with all their fields, ids as integers without loss', async () => {
    const [id] = await putRows(server.database, 1, { execution_id: '331000000000000123' });
    const answer = await internalPost(server, 'outbox/claim', { limit: 10 });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      rows: [
        {
          outbox_id: Number(id),
          event_id: 331000000000000001n,
          execution_id: 331000000000000123n,
          subject: 'noetl.events.test',
          payload: { n: 1 },
          payload_codec: 'json',
          attempts: 1,
          lock_token: 1,
          topic: 'event',
          msg_id: expect.any(String),
          headers: {},
        },
      ],
      claimed: 1,
    });
  });

  it('leaves out what a row does not have', async () => {
    await putRows(server.database, 1, { execution_id: null, subject: null });
    const [row] = await claim();
    expect(Object.keys(row ?? {})).not.toContain('execution_id');
    expect(Object.keys(row ?? {})).not.toContain('subject');
  });

  it('takes 100 rows unless told otherwise, oldest first and in order', async () => {
    const ids = await putRows(server.database, 120);
    const rows = await claim({});
    expect(rows.map((row) => String(row.outbox_id))).toEqual(ids.slice(0, 100));
  });

  it('does without a body', async () => {
    await putRows(server.database, 2);
    const answer = await ask(server.url, 'POST', '/api/internal/outbox/claim', { headers: BEARER });
    expect(answer.body.claimed).toBe(2);
  });

  it.each([
    [0, 1],
    [-5, 1],
    [3, 3],
    [5_000, 1_000],
  ])('with limit %i takes %i rows', async (limit, expected) => {
    await putRows(server.database, 1_010);
    expect(await claim({ limit })).toHaveLength(expected);
  });

  it.each(['ten', 1.5, true])('refuses the limit %j', async (limit) => {
    expect((await internalPost(server, 'outbox/claim', { limit })).status).toBe(422);
  });

  it('does not hand out the same row twice', async () => {
    await putRows(server.database, 3);
    expect([(await claim()).length, (await claim()).length]).toEqual([3, 0]);
  });

  it('counts attempts', async () => {
    const [id] = await putRows(server.database, 1, { status: 'FAILED', attempts: 1 });
    const [row] = await claim();
    expect([row?.attempts, (await rowOf(server.database, String(id))).status]).toEqual([2, 'IN_FLIGHT']);
  });

  it('passes over what is not due, in flight, published, dead or a callback', async () => {
    await putRows(server.database, 1, { available_at: new Date(Date.now() + 3_600_000) });
    for (const status of ['IN_FLIGHT', 'PUBLISHED', 'DEAD']) await putRows(server.database, 1, { status });
    await putRows(server.database, 1, { topic: 'callback' });
    expect(await claim()).toEqual([]);
  });
});

describe('marking as published', () => {
  it('publishes rows and clears their error', async () => {
    const [id] = await putRows(server.database, 1, { last_error: 'before' });
    await claim();
    const answer = await internalPost(server, 'outbox/mark-published', { outbox_ids: [Number(id)] });
    expect(answer.body).toEqual({ marked: 1 });
    const row = await rowOf(server.database, String(id));
    expect([row.status, row.last_error, row.published_at instanceof Date]).toEqual(['PUBLISHED', null, true]);
  });

  it('believes a publisher without a token, whatever the status', async () => {
    const ids = await putRows(server.database, 2);
    expect((await internalPost(server, 'outbox/mark-published', { outbox_ids: ids })).body).toEqual({ marked: 2 });
  });

  it('twice is once: the time of the first mark stays', async () => {
    const [id] = await putRows(server.database, 1);
    await internalPost(server, 'outbox/mark-published', { outbox_ids: [id] });
    const first = await rowOf(server.database, String(id));
    await internalPost(server, 'outbox/mark-published', { outbox_ids: [id] });
    expect((await rowOf(server.database, String(id))).published_at).toEqual(first.published_at);
  });

  it('counts only rows that exist', async () => {
    const answer = await internalPost(server, 'outbox/mark-published', { outbox_ids: [999_999_999] });
    expect(answer.body).toEqual({ marked: 0 });
  });

  it('refuses an empty list with 400', async () => {
    const answer = await internalPost(server, 'outbox/mark-published', { outbox_ids: [] });
    expect(answer).toMatchObject({ status: 400, body: { error: 'outbox_ids must not be empty', status: 400 } });
  });

  it.each([{}, { outbox_ids: 1 }, { outbox_ids: ['x'] }, { outbox_ids: [1.5] }, { outbox_ids: [1], lock_tokens: [] }])(
    'refuses %j with 422',
    async (body) => {
      expect((await internalPost(server, 'outbox/mark-published', body)).status).toBe(422);
    },
  );
});

describe('marking as failed', () => {
  it.each([
    [{}, 1],
    [{ attempts: 0 }, 1],
    [{ attempts: 2 }, 2],
    [{ attempts: 5 }, 16],
    [{ attempts: 9 }, 256],
    [{ attempts: 20 }, 256],
    [{ attempts: 5, max_delay_seconds: 10 }, 10],
  ])('with %j waits %i s', async (body, seconds) => {
    const [id] = await putRows(server.database, 1);
    await claim();
    const answer = await internalPost(server, 'outbox/mark-failed', { outbox_id: Number(id), error: 'no', ...body });
    expect(answer.body).toEqual({ marked: true, available_at_in: seconds });
    const row = await rowOf(server.database, String(id));
    expect([row.status, row.wait_seconds, row.last_error]).toEqual(['FAILED', seconds, 'no']);
  });

  it('keeps the first 2,000 characters of the error', async () => {
    const [id] = await putRows(server.database, 1);
    await internalPost(server, 'outbox/mark-failed', { outbox_id: id, error: 'ö'.repeat(2_345) });
    expect((await rowOf(server.database, String(id))).last_error).toBe('ö'.repeat(2_000));
  });

  it('refuses an empty error with 400', async () => {
    const answer = await internalPost(server, 'outbox/mark-failed', { outbox_id: 1, error: '' });
    expect(answer).toMatchObject({ status: 400, body: { error: 'error must not be empty' } });
  });

  it.each([
    { error: 'no' },
    { outbox_id: 1 },
    { outbox_id: 'x', error: 'no' },
    { outbox_id: 1, error: 'no', attempts: 'x' },
  ])('refuses %j with 422', async (body) => {
    expect((await internalPost(server, 'outbox/mark-failed', body)).status).toBe(422);
  });

  it('says so when there is nothing to mark', async () => {
    const answer = await internalPost(server, 'outbox/mark-failed', { outbox_id: 999_999_999, error: 'no' });
    expect(answer.body).toEqual({ marked: false, available_at_in: 1 });
  });

  it('does not take back what was published', async () => {
    const [id] = await putRows(server.database, 1, { status: 'PUBLISHED' });
    const answer = await internalPost(server, 'outbox/mark-failed', { outbox_id: id, error: 'late' });
    expect([answer.body.marked, (await rowOf(server.database, String(id))).status]).toEqual([false, 'PUBLISHED']);
  });
});

describe('a publisher that was too slow', () => {
  /** Claimed, its lease run out, and claimed again by another publisher. */
  async function claimedTwice() {
    await putRows(server.database, 1);
    const [first] = await claim({ owner: 'slow' });
    await sql(server.database, `UPDATE noetl.outbox SET lease_until = now() - interval '1 s'`);
    const [second] = await claim({ owner: 'next' });
    return { first, second };
  }

  it('loses its row to the next one', async () => {
    const { first, second } = await claimedTwice();
    expect(idOf(second)).toBe(idOf(first));
    expect([second?.attempts, second?.lock_token]).toEqual([2, 2]);
  });

  it('cannot mark it as published with its old token', async () => {
    const { first } = await claimedTwice();
    const body = { outbox_ids: [idOf(first)], lock_tokens: [first?.lock_token] };
    expect((await internalPost(server, 'outbox/mark-published', body)).body).toEqual({ marked: 0 });
    expect((await rowOf(server.database, idOf(first))).status).toBe('IN_FLIGHT');
  });

  it('cannot mark it as failed with its old token', async () => {
    const { first } = await claimedTwice();
    const body = { outbox_id: idOf(first), error: 'late', lock_token: first?.lock_token };
    expect((await internalPost(server, 'outbox/mark-failed', body)).body.marked).toBe(false);
  });

  it('leaves the row to the new owner, who marks it', async () => {
    const { second } = await claimedTwice();
    const body = { outbox_ids: [idOf(second)], lock_tokens: [second?.lock_token] };
    expect((await internalPost(server, 'outbox/mark-published', body)).body).toEqual({ marked: 1 });
  });

  it('may mark a repetition of its own mark', async () => {
    const { second } = await claimedTwice();
    const body = { outbox_ids: [idOf(second)], lock_tokens: [second?.lock_token] };
    await internalPost(server, 'outbox/mark-published', body);
    expect((await internalPost(server, 'outbox/mark-published', body)).body).toEqual({ marked: 1 });
  });
});

describe('rows whose publisher is gone', () => {
  it('are taken back even when they were claimed without a lease', async () => {
    await putRows(server.database, 1, {
      status: 'IN_FLIGHT',
      attempts: 1,
      locked_at: new Date(Date.now() - 3_600_000),
    });
    expect(await claim()).toHaveLength(1);
  });

  it('are dead when they have used up their attempts', async () => {
    const [id] = await putRows(server.database, 1, {
      status: 'IN_FLIGHT',
      attempts: 3,
      lease_until: new Date(Date.now() - 1_000),
    });
    expect(await claim()).toEqual([]);
    expect((await rowOf(server.database, String(id))).status).toBe('DEAD');
  });
});

describe('a row that fails again and again', () => {
  async function deadRow(): Promise<string> {
    const [id] = await putRows(server.database, 1, { status: 'FAILED', attempts: 2 });
    await claim();
    const answer = await internalPost(server, 'outbox/mark-failed', { outbox_id: id, error: 'for good', attempts: 3 });
    expect(answer.body).toEqual({ marked: true, available_at_in: 4, dead: true });
    return String(id);
  }

  it('is dead after the last attempt', async () => {
    const id = await deadRow();
    expect((await rowOf(server.database, id)).status).toBe('DEAD');
    await sql(server.database, 'UPDATE noetl.outbox SET available_at = now()');
    expect(await claim()).toEqual([]);
  });

  it('can be tried again, with a fresh count', async () => {
    const id = await deadRow();
    expect((await internalPost(server, 'outbox/retry', { outbox_ids: [id] })).body).toEqual({ retried: 1 });
    expect((await claim())[0]).toMatchObject({ attempts: 1 });
  });

  it('is tried again with all others when none is named', async () => {
    await deadRow();
    await putRows(server.database, 2, { status: 'DEAD' });
    expect((await internalPost(server, 'outbox/retry', {})).body).toEqual({ retried: 3 });
  });

  it('is counted', async () => {
    const count = async () => /^noetl_outbox_dead_total (\d+)/m.exec((await get(server.url, '/metrics')).text)?.[1];
    const before = Number(await count());
    await deadRow();
    expect(Number(await count())).toBe(before + 1);
  });
});

describe('the pending count', () => {
  it('counts what is due, and what a lost publisher held', async () => {
    await putRows(server.database, 2);
    await putRows(server.database, 1, { status: 'FAILED' });
    await putRows(server.database, 1, { status: 'FAILED', available_at: new Date(Date.now() + 3_600_000) });
    await putRows(server.database, 1, { status: 'IN_FLIGHT', lease_until: new Date(Date.now() + 3_600_000) });
    await putRows(server.database, 1, { status: 'IN_FLIGHT', lease_until: new Date(Date.now() - 1_000) });
    for (const status of ['PUBLISHED', 'DEAD']) await putRows(server.database, 1, { status });
    expect((await internalGet(server, 'outbox/pending-count')).body).toEqual({ pending: 4 });
  });

  it('is zero for an empty outbox', async () => {
    expect((await internalGet(server, 'outbox/pending-count')).body).toEqual({ pending: 0 });
  });
});

describe('the view for operators', () => {
  it('adds up what is not delivered, and names what was given up', async () => {
    await putRows(server.database, 2);
    await putRows(server.database, 1, { topic: 'callback' });
    await putRows(server.database, 1, { status: 'PUBLISHED' });
    const [dead] = await putRows(server.database, 1, { status: 'DEAD', last_error: 'refused' });
    const { body } = await get(server.url, '/api/ops/outbox');
    expect(body).toMatchObject({
      pending: 3,
      failed: 0,
      in_flight: 0,
      dead: 1,
      dead_rows: [{ outbox_id: dead, topic: 'event', last_error: 'refused' }],
    });
    expect(body.shards).toMatchObject([{ shard: 'shard-0', pending: 3 }]);
  });
});

describe('over several shards', () => {
  it('every row is claimed and marked where it lies', async () => {
    const { server: sharded, databases } = await startShardedServer(3);
    const [first, , third] = databases as [TestDatabase, TestDatabase, TestDatabase];
    await putRows(first, 4);
    await putRows(third, 3);
    const answer = await internalPost(sharded, 'outbox/claim', { limit: 6 });
    const rows = answer.body.rows as JsonObject[];
    const ids = rows.map((row) => Number(row.outbox_id));
    expect(ids).toHaveLength(6);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect((await internalGet(sharded, 'outbox/pending-count')).body).toEqual({ pending: 1 });
    const marks = { outbox_ids: ids, lock_tokens: rows.map((row) => row.lock_token) };
    expect((await post(sharded.url, '/api/internal/outbox/mark-published', marks, BEARER)).body).toEqual({ marked: 6 });
    const published = await Promise.all(
      databases.map(async (database) => {
        const [row] = await sql<{ n: number }>(
          database,
          `SELECT count(*)::int AS n FROM noetl.outbox WHERE status = 'PUBLISHED'`,
        );
        return row?.n ?? 0;
      }),
    );
    expect([published[1], (published[0] ?? 0) + (published[2] ?? 0)]).toEqual([0, 6]);
  });
});
