// Liveness, readiness and metrics over HTTP, for an orchestrator and for Prometheus. Loopback unless told otherwise.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WorkerMetrics } from './metrics.js';

export interface HealthOptions {
  readonly port: number;
  readonly host?: string;
  isReady(): boolean;
  readonly metrics: WorkerMetrics;
}

export interface HealthServer extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    respond(request, response, options).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host ?? '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port: (server.address() as AddressInfo).port, close, [Symbol.asyncDispose]: close };
}

async function respond(request: IncomingMessage, response: ServerResponse, options: HealthOptions): Promise<void> {
  const text = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
    response.writeHead(status, { 'content-type': type }).end(body);
  };
  const { pathname } = new URL(request.url ?? '/', 'http://worker');
  switch (pathname) {
    case '/healthz':
    case '/livez':
      return text(200, 'ok\n');
    case '/readyz':
      return options.isReady() ? text(200, 'ready\n') : text(503, 'not ready\n');
    case '/metrics':
      return text(200, await options.metrics.registry.metrics(), options.metrics.registry.contentType);
    default:
      return text(404, 'not found\n');
  }
}
