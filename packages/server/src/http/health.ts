// Liveness says the process answers; readiness says the database does too.
import type { Pools } from '../db/index.js';
import type { Metrics } from '../observability/index.js';
import type { App } from './app.js';

export function healthRoutes(
  app: App,
  {
    pools,
    metrics,
    version,
    exposeMetrics,
    nats,
  }: { pools: Pools; metrics: Metrics; version: string; exposeMetrics: boolean; nats: () => string },
): void {
  const started = Date.now();

  app.get('/health', { schema: { tags: ['health'], summary: 'Liveness' } }, () => ({ status: 'ok' }));

  app.get(
    '/api/health',
    { schema: { tags: ['health'], summary: 'Readiness: the databases answer' } },
    async (_request, reply) => {
      const answers = (pool: Pools['cluster']) =>
        pool.query('SELECT 1').then(
          () => true,
          () => false,
        );
      const [cluster, ...shards] = await Promise.all(
        [pools.cluster, ...pools.shards.map(({ pool }) => pool)].map(answers),
      );
      // Executions of the other shards go on, so a load balancer must not send everybody away because of one.
      const usable = cluster === true && shards.includes(true);
      const whole = usable && shards.every(Boolean);
      return reply.code(usable ? 200 : 503).send({
        status: whole ? 'ok' : usable ? 'degraded' : 'unhealthy',
        database: whole ? 'connected' : usable ? 'degraded' : 'disconnected',
        nats: nats(),
        uptime_seconds: Math.floor((Date.now() - started) / 1000),
        version,
        timestamp: new Date().toISOString(),
      });
    },
  );

  app.get('/api/pool/status', { schema: { tags: ['health'], summary: 'Use of the database connections' } }, () => {
    const pool = pools.cluster;
    const max = pool.options.max ?? 10;
    const busy = pool.totalCount - pool.idleCount;
    return {
      pool_min: 0,
      pool_max: max,
      pool_size: pool.totalCount,
      pool_available: pool.idleCount,
      requests_waiting: pool.waitingCount,
      utilization: Math.min(1, busy / max),
      slots_available: max - busy,
      status: 'ok',
    };
  });

  if (!exposeMetrics) return;
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/plain; version=0.0.4; charset=utf-8')
      .serializer((text: unknown) => String(text))
      .send(await metrics.registry.metrics()),
  );
}
