import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/index.js';
import { VERSION } from '../../packages/server/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { get } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { workOff } from './support/reports.js';

const METRICS = [
  'noetl_events_ingested_total',
  'noetl_event_ingest_duration_seconds',
  'noetl_write_requests_total',
  'noetl_write_request_duration_seconds',
  'noetl_result_store_put_total',
  'noetl_result_store_put_duration_seconds',
  'noetl_result_store_resolve_total',
  'noetl_result_store_resolve_duration_seconds',
  'noetl_execute_outcomes_total',
  'noetl_execute_batch_size',
  'noetl_appends_total',
  'noetl_append_duration_seconds',
  'noetl_events_appended_total',
  'noetl_append_stale_total',
  'noetl_executions_total',
  'noetl_commands_claimed_total',
  'noetl_command_leases_expired_total',
  'noetl_http_requests_total',
  'noetl_http_request_duration_seconds',
  'noetl_server_build_info',
  'noetl_up',
  'noetl_commands_ready',
  'noetl_workers_waiting',
  'noetl_stream_followers',
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
  'noetl_callbacks_total',
  'noetl_events_projected_total',
  'noetl_events_projected_duplicates_total',
  'noetl_events_materialized_total',
  'noetl_events_rejected_total',
  'noetl_projection_advanced_total',
  'noetl_cleanup_rows_purged_total',
  'noetl_snapshots_broken_total',
  'noetl_event_stream_published_total',
  'noetl_event_stream_skipped_total',
  'noetl_event_stream_cursor',
  'noetl_event_stream_failures_total',
  'noetl_event_stream_leader',
  'noetl_event_stream_lag_seconds',
  'noetl_command_notifications_total',
  'noetl_replay_drift_checks_total',
  'noetl_replay_events_total',
  'noetl_replay_snapshots_total',
  'noetl_container_callbacks_total',
];

describe('metrics of a server that has done nothing', async () => {
  const server = await startTestServer();
  const { status, text, headers } = await get(server.url, '/metrics');

  it('come as Prometheus text', () => {
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it.each(METRICS)('%s is there', (name) => {
    expect(text).toMatch(new RegExp(`^# TYPE ${name} (counter|gauge|histogram)$`, 'm'));
  });

  it.each([
    'noetl_executions_total{status="COMPLETED"} 0',
    'noetl_executions_total{status="FAILED"} 0',
    'noetl_execute_outcomes_total{entry="single",outcome="new"} 0',
    'noetl_commands_claimed_total{outcome="granted"} 0',
    'noetl_events_ingested_total{event_type="command.completed",status="ok"} 0',
    'noetl_write_requests_total{endpoint="catalog_register",status="ok"} 0',
    'noetl_command_leases_expired_total 0',
    'noetl_events_appended_total 0',
    `noetl_server_build_info{version="${VERSION}"} 1`,
    'noetl_up 1',
  ])('%s', (line) => {
    expect(text.split('\n')).toContain(line);
  });

  it('has no metric that this test does not know', () => {
    const names = [...text.matchAll(/^# TYPE (noetl_\w+) /gm)].map(([, name]) => name);
    expect(names.sort()).toEqual([...METRICS].sort());
  });
});

describe('metrics of a server that has worked', async () => {
  const server = await startTestServer();
  await server.client.register(chain('obs/two', 2));
  const { execution_id } = await server.client.execute({ path: 'obs/two' });
  await workOff(server.client);
  const { text } = await get(server.url, '/metrics');

  it.each([
    'noetl_executions_total{status="COMPLETED"} 1',
    'noetl_execute_outcomes_total{entry="single",outcome="new"} 1',
    'noetl_write_requests_total{endpoint="catalog_register",status="ok"} 1',
    'noetl_commands_claimed_total{outcome="granted"} 2',
    'noetl_http_requests_total{method="POST",route="/api/execute",code="200"} 1',
  ])('%s', (line) => {
    expect(text.split('\n')).toContain(line);
  });

  it('never label anything with an id', () => {
    expect(text).not.toContain(execution_id);
  });

  it('count an unknown path under one label', async () => {
    for (const path of ['/api/a', '/api/b']) await get(server.url, path);
    const after = (await get(server.url, '/metrics')).text;
    expect(after).not.toContain('/api/a"');
    expect(after).toMatch(/noetl_http_requests_total\{method="GET",route="unmatched",code="404"\} 2/);
  });
});

it('metrics can be switched off', async () => {
  const server = await startTestServer({ env: { NOETL_DISABLE_METRICS: 'true' } });
  expect((await get(server.url, '/metrics')).status).toBe(404);
});

describe('health', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });

  it('/health says the process lives', async () => {
    expect((await get(server.url, '/health')).body).toEqual({ status: 'ok' });
  });

  it('/api/health says the database answers', async () => {
    const { status, body } = await get(server.url, '/api/health');
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        status: 'ok',
        database: 'connected',
        nats: 'not_configured',
        uptime_seconds: expect.any(Number),
        version: VERSION,
        timestamp: expect.stringMatching(/Z$/),
      },
    });
  });

  it('/api/pool/status counts connections', async () => {
    const { body } = await get(server.url, '/api/pool/status');
    expect(body).toMatchObject({ pool_max: 10, status: 'ok', requests_waiting: 0 });
    expect(Number(body.utilization)).toBeLessThanOrEqual(1);
  });

  it('/api/health is 503 when the database is gone, and /health is not', async () => {
    const doomed = await startTestServer();
    await doomed.database.drop();
    const { status, body } = await get(doomed.url, '/api/health');
    expect({ status, body }).toMatchObject({ status: 503, body: { status: 'unhealthy', database: 'disconnected' } });
    expect((await get(doomed.url, '/health')).status).toBe(200);
  });
});

describe('openapi.json', async () => {
  const server = await startTestServer();
  const { body } = await get(server.url, '/openapi.json');
  const paths = body.paths as Record<string, JsonObject>;

  it('is OpenAPI 3.1 of this version', () => {
    expect(body).toMatchObject({ openapi: '3.1.0', info: { title: 'NoETL', version: VERSION } });
  });

  it.each([
    ['get', '/health'],
    ['get', '/api/health'],
    ['get', '/api/pool/status'],
    ['post', '/api/catalog/register'],
    ['post', '/api/catalog/list'],
    ['post', '/api/catalog/resource'],
    ['post', '/api/execute'],
    ['post', '/api/execute/batch'],
    ['get', '/api/executions'],
    ['get', '/api/executions/{id}'],
    ['get', '/api/executions/{id}/events'],
    ['get', '/api/executions/{id}/status'],
    ['get', '/api/executions/{id}/result'],
    ['get', '/api/executions/{id}/explain'],
    ['get', '/api/executions/{id}/stream'],
    ['get', '/api/executions/{id}/cancellation-check'],
    ['post', '/api/executions/{id}/cancel'],
    ['post', '/api/executions/{id}/stop'],
    ['post', '/api/executions/{id}/finalize'],
    ['post', '/api/events'],
    ['post', '/api/events/batch'],
    ['get', '/api/commands/{event_id}'],
    ['post', '/api/commands/{event_id}/claim'],
    ['post', '/api/commands/{event_id}/release'],
    ['post', '/api/commands/lease'],
    ['post', '/api/worker/report'],
    ['post', '/api/worker/pool/register'],
    ['post', '/api/worker/pool/heartbeat'],
    ['post', '/api/worker/pool/deregister'],
    ['delete', '/api/worker/pool/deregister'],
    ['get', '/api/worker/pools'],
  ])('names %s %s with a summary', (method, path) => {
    expect(paths[path]?.[method]).toMatchObject({ summary: expect.stringMatching(/\w/), tags: [expect.any(String)] });
  });

  it('describes every path parameter', () => {
    for (const [path, operations] of Object.entries(paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(operations)) {
        const { parameters = [], responses } = operation as {
          parameters?: { in: string; name: string }[];
          responses: object;
        };
        const described = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        expect({ path, described }).toEqual({ path, described: names });
        expect(Object.keys(responses).length).toBeGreaterThan(0);
      }
    }
  });
});
