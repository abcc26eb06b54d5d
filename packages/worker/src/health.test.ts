import { describe, expect, it } from 'vitest';
import { startHealthServer } from './health.js';
import { createWorkerMetrics } from './metrics.js';

async function withServer(
  ready: boolean,
  test: (get: (path: string) => Promise<Response>) => Promise<void>,
): Promise<void> {
  const metrics = createWorkerMetrics({ kinds: ['shell'], version: '1.2.3' });
  metrics.dispatched('shell', 0.2, true);
  metrics.dispatched('kind-from-outside', 0.2, false);
  const server = await startHealthServer({ port: 0, isReady: () => ready, metrics });
  try {
    await test((path) => fetch(`http://127.0.0.1:${server.port}${path}`));
  } finally {
    await server.close();
  }
}

describe('the health listener', () => {
  it.each(['/healthz', '/livez'])('answers %s as long as the process lives', (path) =>
    withServer(false, async (get) => expect((await get(path)).status).toBe(200)),
  );

  it.each([
    [true, 200],
    [false, 503],
  ])('ready %s is %i', (ready, status) =>
    withServer(ready, async (get) => expect((await get('/readyz')).status).toBe(status)),
  );

  it('knows no other path', () => withServer(true, async (get) => expect((await get('/x')).status).toBe(404)));

  it('shows every metric from the start, also those that are zero', () =>
    withServer(true, async (get) => {
      const text = await (await get('/metrics')).text();
      for (const line of [
        'noetl_worker_pulls_total{outcome="claimed"} 0',
        'noetl_worker_claim_succeeded_total 0',
        'noetl_worker_claim_failed_total 0',
        'noetl_worker_dispatch_errors_total{tool_kind="shell"} 1',
        'noetl_worker_dispatch_duration_seconds_count{tool_kind="shell"} 1',
        'noetl_worker_event_emit_retries_total{event_type="command.completed"} 0',
        'noetl_worker_event_emit_failed_total{event_type="command.failed"} 0',
        'noetl_worker_command_loop_reconnect_total{reason="lease"} 0',
        'noetl_worker_concurrent_dispatches 0',
        'noetl_worker_ready 0',
        `noetl_worker_build_info{version="1.2.3",node="${process.version}"} 1`,
      ]) {
        expect(text).toContain(`${line}\n`);
      }
    }));

  it('gives an unknown tool kind no series of its own', () =>
    withServer(true, async (get) => {
      const text = await (await get('/metrics')).text();
      expect(text).not.toContain('kind-from-outside');
      expect(text).toContain('noetl_worker_dispatch_duration_seconds_count{tool_kind="other"} 1');
    }));
});
