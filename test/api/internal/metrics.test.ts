// Every series is there from the start, so that an alert on it means something.
import { expect, it } from 'vitest';
import { startTestServer } from '../../support/server.js';
import { get } from '../support/ask.js';

const SERIES = [
  'noetl_outbox_pending',
  'noetl_outbox_in_flight',
  'noetl_outbox_expired',
  'noetl_outbox_dead',
  'noetl_outbox_oldest_seconds',
  'noetl_outbox_claimed_total',
  'noetl_outbox_published_total',
  'noetl_outbox_failed_total',
  'noetl_outbox_recovered_total',
  'noetl_outbox_dead_total',
  'noetl_callbacks_total{outcome="delivered"}',
  'noetl_callbacks_total{outcome="failed"}',
  'noetl_events_projected_total',
  'noetl_events_projected_duplicates_total',
  'noetl_events_materialized_total',
  'noetl_events_rejected_total',
  'noetl_projection_advanced_total',
  'noetl_cleanup_rows_purged_total{table="command"}',
  'noetl_cleanup_rows_purged_total{table="runtime"}',
  'noetl_cleanup_rows_purged_total{table="event_partition"}',
  'noetl_cleanup_rows_purged_total{table="outbox"}',
];

it('a server that has done nothing shows all of them at zero', async () => {
  const server = await startTestServer();
  const lines = (await get(server.url, '/metrics')).text.split('\n');
  expect(SERIES.filter((series) => !lines.includes(`${series} 0`))).toEqual([]);
});
