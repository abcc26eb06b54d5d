// Reading what is to leave must cost what is read, not what is stored.
import { expect, it } from 'vitest';
import { readStatement } from '../../packages/server/src/stream/outgoing.js';
import { sql } from '../api/support/sql.js';
import { startTestServer } from '../support/server.js';
import { ids } from './support.js';

it('walks the index in the order of transactions, also on tables that nobody has analysed', async () => {
  const { database } = await startTestServer();
  await sql(
    database,
    `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, context)
     SELECT $1::bigint + n / 50, n, n, 1, 'note.made', jsonb_build_object('text', repeat('x', 200)) FROM generate_series(1, 20000) AS n`,
    [ids.next()],
  );
  const rows = await sql<{ 'QUERY PLAN': string }>(database, `EXPLAIN (GENERIC_PLAN) ${readStatement(500)}`);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/Merge Append[\s\S]*Index Scan using event_\d+_\d+_tx_id/);
});
