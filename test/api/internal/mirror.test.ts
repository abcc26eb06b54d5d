// The event mirror: with it, the outbox tells every event of every log, and what it tells can be stored elsewhere.
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { get } from '../support/ask.js';
import { fan } from '../support/playbooks.js';
import { workOff } from '../support/reports.js';
import { sql } from '../support/sql.js';
import { internalPost, startInternalServer } from './support.js';

let server: TestServer;

beforeAll(async () => {
  server = await startInternalServer({ env: { NOETL_EVENT_MIRROR_ENABLED: 'true' } });
  await server.client.register(fan('mirrored/fan', 3));
});

async function claimAll(): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  for (;;) {
    const { body } = await internalPost(server, 'outbox/claim', { limit: 1_000 });
    const claimed = body.rows as JsonObject[];
    if (claimed.length === 0) return rows;
    rows.push(...claimed);
    await internalPost(server, 'outbox/mark-published', { outbox_ids: claimed.map((row) => row.outbox_id) });
  }
}

describe('the event mirror', () => {
  it('tells every event once, and nothing else', async () => {
    const { execution_id } = await server.client.execute({ path: 'mirrored/fan' });
    await workOff(server.client);
    const told = (await claimAll()).map((row) => `${row.execution_id}/${row.event_id}`);
    const events = await sql<{ event_id: string }>(
      server.database,
      'SELECT event_id FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version',
      [execution_id],
    );
    expect([...told].sort()).toEqual(events.map((event) => `${execution_id}/${event.event_id}`).sort());
  });

  it('tells what another control plane can store as it is', async () => {
    const { execution_id } = await server.client.execute({ path: 'mirrored/fan' });
    await workOff(server.client);
    const events = (await claimAll()).map((row) => row.payload);
    const other = await startTestServer();
    const answer = await internalPost(other, 'events/project', { events });
    expect(answer.body).toEqual({ projected: events.length, duplicates: 0 });
    const status = async (base: string) => (await get(base, `/api/executions/${execution_id}/status`)).body.status;
    expect(await status(other.url)).toBe(await status(server.url));
  });

  it('is off unless it is switched on', async () => {
    const silent = await startTestServer();
    await silent.client.register(fan('mirrored/fan', 1));
    await silent.client.execute({ path: 'mirrored/fan' });
    await workOff(silent.client);
    expect(await sql(silent.database, 'SELECT 1 FROM noetl.outbox')).toEqual([]);
  });
});
