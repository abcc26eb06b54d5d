// Many publishers at once, a third of which die between claim and mark: every row is published, and none has two live owners.
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../packages/core/src/index.js';
import type { TestServer } from '../../support/server.js';
import { sql } from '../support/sql.js';
import { putRows } from './outbox-rows.js';
import { internalGet, internalPost, startInternalServer } from './support.js';

const ROWS = 3_000;
const CLAIMERS = 16;

let server: TestServer;

beforeAll(async () => {
  server = await startInternalServer({ env: { NOETL_OUTBOX_MAX_ATTEMPTS: '1000' } });
});

describe('sixteen publishers', () => {
  it('lose no row and never own one together, although a third of them die', async () => {
    await putRows(server.database, ROWS);
    /** Row to its owner, while that owner is alive and has not asked to mark it. */
    const owners = new Map<string, string>();
    const published = new Set<string>();
    let shared = 0;

    const work = async (owner: string, dies: boolean) => {
      for (let round = 0; ; round++) {
        const lease_seconds = dies ? 0.2 : 60;
        const { body } = await internalPost(server, 'outbox/claim', { limit: 25, owner, lease_seconds });
        const rows = body.rows as JsonObject[];
        for (const row of rows) {
          const id = String(row.outbox_id);
          if (owners.has(id)) shared++;
          if (!dies) owners.set(id, owner);
        }
        // It keeps what it has, marks nothing and is never heard of again.
        if (dies && rows.length > 0 && round >= 1) return;
        if (rows.length === 0) {
          if ((await left()) === 0) return;
          await delay(20);
          continue;
        }
        const outbox_ids = rows.map((row) => row.outbox_id);
        for (const id of outbox_ids) owners.delete(String(id));
        const lock_tokens = rows.map((row) => row.lock_token);
        const marked = (await internalPost(server, 'outbox/mark-published', { outbox_ids, lock_tokens })).body.marked;
        if (!dies && marked !== rows.length) throw new Error(`${owner} lost rows while its lease was valid`);
        for (const id of outbox_ids) published.add(String(id));
      }
    };
    const left = async () => {
      const [row] = await sql<{ n: number }>(
        server.database,
        `SELECT count(*)::int AS n FROM noetl.outbox WHERE status <> 'PUBLISHED'`,
      );
      return row?.n ?? 0;
    };
    await Promise.all(Array.from({ length: CLAIMERS }, (_, index) => work(`p${index}`, index % 3 === 0)));

    expect(shared).toBe(0);
    expect(await left()).toBe(0);
    expect(published.size).toBe(ROWS);
    expect((await internalGet(server, 'outbox/pending-count')).body).toEqual({ pending: 0 });
  });
});
