// Snapshots on demand: the fold of a log, never going back.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../packages/core/src/index.js';
import type { TestServer } from '../../support/server.js';
import { get } from '../support/ask.js';
import { chain } from '../support/playbooks.js';
import { workOff } from '../support/reports.js';
import { sql } from '../support/sql.js';
import { logsOf } from './logs.js';
import { internalPost, startInternalServer } from './support.js';

let server: TestServer;
const { fresh, start, logOf, project, materialize } = logsOf(() => server, 'pipeline/two');

beforeAll(async () => {
  server = await startInternalServer();
  await server.client.register(chain('pipeline/two', 2));
});

describe('advancing snapshots', () => {
  const advance = (execution_ids: unknown) => internalPost(server, 'projection/advance', { execution_ids });

  interface StoredSnapshot {
    version: string;
    snapshot: JsonObject;
    checksum: string;
    meta: JsonObject;
  }

  const snapshotOf = async (id: string) => {
    const [row] = await sql<StoredSnapshot>(
      server.database,
      `SELECT version, snapshot, checksum, meta FROM noetl.projection_snapshot
       WHERE aggregate_type = 'orchestrator_workflow_state' AND aggregate_id = $1`,
      [id],
    );
    return row;
  };

  it('stores the state of an execution, how far it has come and how many events are in it', async () => {
    const id = await start();
    await workOff(server.client);
    const rows = await logOf(id);
    const highest = rows
      .map((row) => BigInt(row.event_id))
      .sort((a, b) => (a < b ? -1 : 1))
      .at(-1);
    const answer = await advance([id]);
    expect(answer).toMatchObject({
      status: 200,
      body: { advanced: [{ execution_id: BigInt(id), version: highest, events: rows.length }], failed: [] },
    });
    expect(await snapshotOf(id)).toMatchObject({
      version: String(highest),
      snapshot: { status: 'COMPLETED', version: rows.length },
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
      meta: { applied_count: rows.length, routing_meta: { execution_pool: 'shared' } },
    });
  });

  it('never goes back', async () => {
    const id = await start();
    await advance([id]);
    const early = await snapshotOf(id);
    await workOff(server.client);
    await advance([id]);
    const late = await snapshotOf(id);
    await sql(
      server.database,
      `UPDATE noetl.projection_snapshot SET meta = jsonb_set(meta, '{stream_version}', '100000') WHERE aggregate_id = $1`,
      [id],
    );
    await advance([id]);
    expect(Number(late?.meta.stream_version)).toBeGreaterThan(Number(early?.meta.stream_version));
    expect((await snapshotOf(id))?.meta.stream_version).toBe(100_000);
  });

  it('twice is once', async () => {
    const id = await start();
    await workOff(server.client);
    const first = await advance([id, id]);
    const stored = await snapshotOf(id);
    expect((first.body.advanced as Json[]).length).toBe(1);
    expect((await advance([id])).body).toEqual(first.body);
    expect(await snapshotOf(id)).toEqual(stored);
  });

  it('reports executions without events and advances the others', async () => {
    const id = await start();
    const missing = fresh();
    const answer = await advance([missing, id]);
    expect(answer.body).toMatchObject({
      advanced: [{ execution_id: BigInt(id) }],
      failed: [{ execution_id: missing, error: 'No events found for execution' }],
    });
    await workOff(server.client);
  });

  it('reports a log that cannot be folded and advances the others', async () => {
    const [id, damaged] = [await start(), fresh()];
    await project([1, 2, 3].map(() => ({ event_id: fresh(), execution_id: damaged, event_type: 'custom.note' })));
    await sql(server.database, 'DELETE FROM noetl.event WHERE execution_id = $1 AND stream_version = 2', [
      String(damaged),
    ]);
    expect((await advance([damaged, id])).body).toMatchObject({
      advanced: [{ execution_id: BigInt(id) }],
      failed: [{ execution_id: damaged, error: expect.any(String) }],
    });
    await workOff(server.client);
  });

  it('issues no command', async () => {
    const id = await start();
    const before = await logOf(id);
    await advance([id]);
    expect(await logOf(id)).toHaveLength(before.length);
    await workOff(server.client);
  });

  it('does nothing with an empty list', async () => {
    expect(await advance([])).toMatchObject({ status: 200, body: { advanced: [], failed: [] } });
  });

  it.each([undefined, 'x', ['x'], [1.5]])('refuses execution_ids %j with 422', async (ids) => {
    expect((await advance(ids)).status).toBe(422);
  });
});

describe('metrics', () => {
  it('count what was projected, repeated, materialized, rejected and advanced', async () => {
    const count = async () => {
      const { text } = await get(server.url, '/metrics');
      return [
        'events_projected_total',
        'events_projected_duplicates_total',
        'events_materialized_total',
        'events_rejected_total',
        'projection_advanced_total',
      ].map((name) => Number(new RegExp(`^noetl_${name} (\\d+)`, 'm').exec(text)?.[1]));
    };
    const before = await count();
    const id = await start();
    const event = { event_id: fresh(), execution_id: id, event_type: 'custom.note' };
    await project([event, event, { execution_id: id }]);
    await materialize([{ execution_id: id, step: 'start', event_type: 'custom.note' }]);
    await internalPost(server, 'projection/advance', { execution_ids: [id] });
    expect((await count()).map((value, index) => value - (before[index] ?? 0))).toEqual([1, 1, 1, 1, 1]);
    await workOff(server.client);
  });
});
