import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { ask, get, post } from './support/ask.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

const register = (body: object) => post(server.url, '/api/worker/pool/register', body);
const heartbeat = (body: object) => post(server.url, '/api/worker/pool/heartbeat', body);
const pools = async (query = '') => (await get(server.url, `/api/worker/pools${query}`)).list as JsonObject[];

describe('register', () => {
  it('answers with the row', async () => {
    const { status, body } = await register({
      name: 'r1',
      component_type: 'worker_pool',
      base_url: 'http://w',
      status: 'ready',
      capacity: 4,
      labels: { pool_name: 'shared' },
      capabilities: ['noop'],
      runtime: { kind: 'node' },
      hostname: 'ignored',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      runtime_id: expect.stringMatching(/^\d+$/),
      name: 'r1',
      kind: 'worker_pool',
      uri: 'http://w',
      status: 'ready',
      capacity: 4,
      labels: { pool_name: 'shared' },
      capabilities: ['noop'],
      runtime: { kind: 'node' },
    });
    expect(body.heartbeat).toMatch(/Z$/);
  });

  it('fills in what is missing with null and active', async () => {
    const { body } = await register({ name: 'r2' });
    expect(body).toMatchObject({
      kind: 'worker_pool',
      status: 'active',
      uri: null,
      labels: null,
      capabilities: null,
      capacity: null,
      runtime: null,
    });
  });

  it('again under the same name is the same row, changed', async () => {
    const one = await register({ name: 'r3', capacity: 1 });
    const two = await register({ name: 'r3', capacity: 2 });
    expect([two.body.runtime_id, two.body.capacity]).toEqual([one.body.runtime_id, 2]);
  });

  it.each([
    [{ name: 'x', kind: 'spaceship' }, 'Invalid runtime kind: spaceship'],
    [{}, /name/],
    [{ name: '' }, /name/],
    [{ name: 'n'.repeat(256) }, /name/],
  ])('%j is 422', async (body, error) => {
    const answer = await register(body);
    expect({ status: answer.status, error: answer.body.error }).toEqual({
      status: 422,
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
  });
});

describe('heartbeat', () => {
  it('is recorded', async () => {
    await register({ name: 'h1' });
    const { status, body } = await heartbeat({ name: 'h1', in_flight: 3, capacity: 8 });
    expect({ status, body }).toEqual({
      status: 200,
      body: { status: 'ok', message: 'Heartbeat recorded', cancelled: [], lost: [] },
    });
    expect(await pools('?name=h1')).toEqual([expect.objectContaining({ in_flight: 3, capacity: 8 })]);
  });

  it('of an unknown worker is 404, so that it registers again', async () => {
    const { status, body } = await heartbeat({ name: 'nobody' });
    expect({ status, error: body.error }).toEqual({ status: 404, error: 'Runtime not found: worker_pool nobody' });
  });

  it('with leases that are not leases is 422', async () => {
    await register({ name: 'h2' });
    const { status, body } = await heartbeat({ name: 'h2', leases: [{ command_id: 'x' }] });
    expect({ status, error: body.error }).toEqual({ status: 422, error: expect.stringContaining('leases[0]') });
  });

  it('reports commands nobody knows as lost', async () => {
    await register({ name: 'h3' });
    const { body } = await heartbeat({ name: 'h3', leases: [{ command_id: 'x', claim_token: 1 }] });
    expect(body).toMatchObject({ cancelled: [], lost: ['x'] });
  });
});

describe('deregister', () => {
  it.each(['POST', 'DELETE'])('by %s takes it off the list', async (method) => {
    await register({ name: `d-${method}` });
    const { status, body } = await ask(server.url, method, '/api/worker/pool/deregister', {
      json: { name: `d-${method}` },
    });
    expect({ status, body }).toEqual({
      status: 200,
      body: { status: 'ok', message: `Runtime worker_pool d-${method} deregistered` },
    });
    expect(await pools(`?name=d-${method}`)).toEqual([]);
  });

  it('of an unknown worker is 404', async () => {
    expect((await post(server.url, '/api/worker/pool/deregister', { name: 'nobody' })).status).toBe(404);
  });
});

describe('pools', () => {
  it('are a bare list by name, of one kind, with filters', async () => {
    await register({ name: 'p-b', status: 'ready' });
    await register({ name: 'p-a', status: 'draining' });
    await register({ name: 'p-c', kind: 'broker' });
    const names = async (query: string) => (await pools(query)).map(({ name }) => name);
    expect(await names('?name=p-')).toEqual(['p-a', 'p-b']);
    expect(await names('?name=p-&status=ready')).toEqual(['p-b']);
    expect(await names('?name=p-&kind=broker')).toEqual(['p-c']);
  });
});
