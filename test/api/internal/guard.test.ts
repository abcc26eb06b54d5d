// Everything below /api/internal needs a token of its own.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.js';
import { ask, get } from '../support/ask.js';
import { BEARER, setInternalToken, startInternalServer, TOKEN } from './support.js';

const PATH = '/api/internal/outbox/pending-count';
let server: TestServer;

beforeAll(async () => {
  server = await startInternalServer();
});
beforeEach(() => setInternalToken(TOKEN));

describe('a server without an internal token', () => {
  it.each([undefined, '', '   '])('refuses with 503 and names the variable (%j)', async (value) => {
    setInternalToken(value);
    const answer = await get(server.url, PATH, BEARER);
    expect(answer.status).toBe(503);
    expect(answer.body.error).toContain('NOETL_INTERNAL_API_TOKEN');
    expect(answer.body.status).toBe(503);
  });

  it('needs no restart when it gets one', async () => {
    setInternalToken(undefined);
    expect((await get(server.url, PATH, BEARER)).status).toBe(503);
    setInternalToken('another');
    expect((await get(server.url, PATH, { authorization: 'Bearer another' })).status).toBe(200);
  });
});

describe('a request to the internal API', () => {
  it.each([
    ['no header', undefined],
    ['another scheme', `Basic ${TOKEN}`],
    ['the token alone', TOKEN],
    ['an empty token', 'Bearer '],
    ['no token', 'Bearer'],
    ['a wrong token', 'Bearer wrong'],
    ['a prefix of the token', `Bearer ${TOKEN.slice(0, -1)}`],
    ['more than the token', `Bearer ${TOKEN}x`],
    ['the token twice', `Bearer ${TOKEN} ${TOKEN}`],
    ['a token beyond ASCII', 'Bearer \u00e9\u00e8'],
  ])('is refused with 403: %s', async (_, authorization) => {
    const answer = await get(server.url, PATH, authorization === undefined ? {} : { authorization });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ status: 403, error: expect.any(String) });
  });

  it('is told about the scheme when there is no header', async () => {
    expect((await get(server.url, PATH)).body.error).toContain('Bearer');
  });

  it.each(['Bearer', 'bearer', 'BEARER'])('is let in with the scheme %s', async (scheme) => {
    expect((await get(server.url, PATH, { authorization: `${scheme} ${TOKEN}` })).status).toBe(200);
  });

  it('is let in with blanks around the token', async () => {
    expect((await get(server.url, PATH, { authorization: `Bearer   ${TOKEN}  ` })).status).toBe(200);
  });
});

describe('every path below /api/internal is guarded', () => {
  const routes: [string, string][] = [
    ['POST', '/api/internal/outbox/claim'],
    ['POST', '/api/internal/outbox/mark-published'],
    ['POST', '/api/internal/outbox/mark-failed'],
    ['POST', '/api/internal/outbox/retry'],
    ['GET', '/api/internal/outbox/pending-count'],
    ['POST', '/api/internal/events/project'],
    ['POST', '/api/internal/events/materialize'],
    ['POST', '/api/internal/projection/advance'],
    ['POST', '/api/internal/cleanup/purge'],
    ['GET', '/api/internal'],
    ['GET', '/api/internal/'],
    ['GET', '/api/internal/no/such/route'],
    ['DELETE', '/api/internal/outbox/claim'],
    ['POST', '/api/%69nternal/outbox/claim'],
    ['GET', '/api/%69nternal/no/such/route'],
    ['GET', '/api/internal/outbox/pending-count?authorization=Bearer'],
  ];

  it.each(routes)('%s %s', async (method, path) => {
    const json = method === 'POST' ? {} : undefined;
    expect((await ask(server.url, method, path, { json })).status).toBe(403);
  });

  it('with the token, a path that does not exist is 404', async () => {
    expect((await get(server.url, '/api/internal/no/such/route', BEARER)).status).toBe(404);
  });

  it('a neighbour with a longer name is not', async () => {
    expect((await get(server.url, '/api/internals')).status).toBe(404);
  });
});

describe('beside the token of the API', () => {
  it('each opens its own part and not the other', async () => {
    const both = await startTestServer({ env: { NOETL_API_TOKEN: 'api-token' } });
    const status = async (path: string, token: string) =>
      (await get(both.url, path, { authorization: `Bearer ${token}` })).status;
    expect([
      await status(PATH, TOKEN),
      await status(PATH, 'api-token'),
      await status('/api/executions', 'api-token'),
      await status('/api/executions', TOKEN),
    ]).toEqual([200, 403, 200, 401]);
  });
});
