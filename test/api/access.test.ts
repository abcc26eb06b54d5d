import { describe, expect, it } from 'vitest';
import { createClient } from '../../packages/client/src/index.js';
import { ConfigError, loadServerConfig } from '../../packages/server/src/index.js';
import { startTestServer } from '../support/server.js';
import { ask, get } from './support/ask.js';

const TOKEN = 'correct-horse-battery-staple';

const ROUTES: readonly [string, string][] = [
  ['GET', '/api/executions'],
  ['GET', '/api/executions/1'],
  ['GET', '/api/executions/1/status'],
  ['GET', '/api/executions/1/events'],
  ['GET', '/api/executions/1/result'],
  ['GET', '/api/executions/1/explain'],
  ['GET', '/api/executions/1/stream'],
  ['GET', '/api/executions/1/cancellation-check'],
  ['POST', '/api/executions/1/cancel'],
  ['POST', '/api/executions/1/finalize'],
  ['POST', '/api/execute'],
  ['POST', '/api/execute/batch'],
  ['POST', '/api/catalog/register'],
  ['POST', '/api/catalog/list'],
  ['POST', '/api/catalog/resource'],
  ['POST', '/api/events'],
  ['POST', '/api/events/batch'],
  ['GET', '/api/commands/1'],
  ['POST', '/api/commands/1/claim'],
  ['POST', '/api/commands/lease'],
  ['POST', '/api/worker/report'],
  ['POST', '/api/worker/pool/register'],
  ['POST', '/api/worker/pool/heartbeat'],
  ['POST', '/api/worker/pool/deregister'],
  ['GET', '/api/worker/pools'],
  ['GET', '/api/pool/status'],
  ['GET', '/api/nothing'],
  ['GET', '/metrics'],
  ['GET', '/openapi.json'],
];

describe('binding', () => {
  it.each(['0.0.0.0', '192.168.1.5', '::', 'noetl.example.com'])('%s without a token is refused', (host) => {
    const load = () => loadServerConfig({ DATABASE_URL: 'postgres://x' }, { host });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(`refusing to listen on ${host} without authentication: set NOETL_API_TOKEN`);
  });

  it.each([
    ['with a token', { NOETL_API_TOKEN: TOKEN }, {}],
    ['with --insecure', {}, { insecure: true }],
    ['with NOETL_INSECURE', { NOETL_INSECURE: 'yes' }, {}],
  ])('any address is fine %s', (_, env, flags) => {
    expect(loadServerConfig({ DATABASE_URL: 'postgres://x', ...env }, { host: '0.0.0.0', ...flags }).host).toBe(
      '0.0.0.0',
    );
  });

  it('a blank token is none', () => {
    expect(() => loadServerConfig({ NOETL_API_TOKEN: '  ' }, { host: '0.0.0.0' })).toThrow(ConfigError);
  });
});

describe('with a token', async () => {
  const server = await startTestServer({ env: { NOETL_API_TOKEN: TOKEN } });

  it.each(ROUTES)('%s %s needs it', async (method, path) => {
    const { status, body, headers } = await ask(server.url, method, path);
    expect({ status, code: body.status, challenge: headers['www-authenticate'] }).toEqual({
      status: 401,
      code: 401,
      challenge: 'Bearer',
    });
  });

  it.each(ROUTES)('%s %s lets it pass', async (method, path) => {
    const { status } = await ask(server.url, method, path, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(status).not.toBe(401);
  });

  it.each([
    ['another token', `Bearer ${TOKEN}x`],
    ['a part of it', `Bearer ${TOKEN.slice(0, -1)}`],
    ['another scheme', `Basic ${TOKEN}`],
    ['no scheme', TOKEN],
    ['nothing after the scheme', 'Bearer '],
  ])('%s is 401', async (_, authorization) => {
    expect((await get(server.url, '/api/executions', { authorization })).status).toBe(401);
  });

  it('the scheme may be written in any case', async () => {
    expect((await get(server.url, '/api/executions', { authorization: `bEARER ${TOKEN}` })).status).toBe(200);
  });

  it.each(['/health', '/api/health'])('%s is open for probes', async (path) => {
    expect((await get(server.url, path)).status).toBe(200);
  });

  it.each([
    '/api/executions/',
    '//api/executions',
    '/API/executions',
    '/api/health/../executions',
    '/api/%65xecutions',
  ])('%s is no way around it', async (path) => {
    expect((await get(server.url, path)).status).toBe(401);
  });

  it('the client works with it and not without it', async () => {
    expect(await server.client.listExecutions()).toEqual([]);
    await expect(createClient({ baseUrl: server.url }).listExecutions()).rejects.toMatchObject({ status: 401 });
  });
});

describe('on loopback without a token', async () => {
  const server = await startTestServer();
  const { port, host } = new URL(server.url);

  it.each([
    ['a page of another site', { origin: 'https://evil.example' }],
    ['a page of this machine on another port', { origin: 'http://127.0.0.1:1' }],
    ['a sandboxed page', { origin: 'null' }],
    ['a name that resolves here', { host: 'evil.example' }],
    ['a name that only looks like loopback', { host: '127.0.0.1.evil.example' }],
    ['a private address', { host: '192.168.0.1' }],
  ])('%s is 403', async (_, headers: Record<string, string>) => {
    const { status, body } = await get(server.url, '/api/executions', headers);
    expect({ status, code: body.status, error: body.error }).toEqual({
      status: 403,
      code: 403,
      error: expect.any(String),
    });
  });

  it.each([
    ['the address itself', { host }],
    ['localhost', { host: `localhost:${port}` }],
    ['a name under localhost', { host: `noetl.localhost:${port}` }],
    ['IPv6 loopback', { host: `[::1]:${port}` }],
    ['its own page', { host, origin: `http://${host}` }],
    ['no origin', {}],
  ])('%s is fine', async (_, headers: Record<string, string>) => {
    expect((await get(server.url, '/api/executions', headers)).status).toBe(200);
  });
});

describe('settings that cannot be read', () => {
  it.each([
    [{ NOETL_PORT: 'eighty' }, /NOETL_PORT=eighty/],
    [{ NOETL_PORT: '70000' }, /NOETL_PORT=70000.*65535/],
    [{ NOETL_COMMAND_CLAIM_LEASE_SECONDS: '0' }, /NOETL_COMMAND_CLAIM_LEASE_SECONDS/],
    [{ NOETL_LOG_LEVEL: 'loud' }, /NOETL_LOG_LEVEL=loud/],
    [{ NOETL_DISABLE_METRICS: 'maybe' }, /NOETL_DISABLE_METRICS=maybe/],
    [{ NOETL_SERVER_MACHINE_ID: '1024' }, /NOETL_SERVER_MACHINE_ID=1024/],
    [{ NOETL_SHARDS: 'host=a;user=b,hots=c;user=d' }, /NOETL_SHARDS\[1\].*hots/],
    [{ NOETL_SHARDS: 'host=a' }, /NOETL_SHARDS\[0\].*user/],
    [{ NOETL_CLUSTER_DSN: 'nonsense' }, /NOETL_CLUSTER_DSN/],
  ])('%j stops the start and is named', (env, message) => {
    expect(() => loadServerConfig(env)).toThrow(ConfigError);
    expect(() => loadServerConfig(env)).toThrow(message);
  });
});
