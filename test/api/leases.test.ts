// Workers that vanish, workers that come back late, and workers that stay alive: with leases of a second or two.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { chain } from './support/playbooks.js';
import { done, leaseOne } from './support/reports.js';
import { sql } from './support/sql.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { NOETL_COMMAND_CLAIM_LEASE_SECONDS: '1' } });
  await server.client.register(chain('lease/one', 1));
});

const start = async () => (await server.client.execute({ path: 'lease/one' })).execution_id;

describe('a lease that runs out', () => {
  it('gives the command to another worker as attempt 2, and refuses the late report of the first', async () => {
    const execution = await start();
    const lost = await leaseOne(server.client, 'lost');
    expect(lost).toMatchObject({ attempt: 1, lease_ms: 1_000 });
    const again = await leaseOne(server.client, 'next', 20_000);
    expect(again).toMatchObject({ command_id: lost.command_id, attempt: 2, claim_token: 2 });

    const late = await server.client.report({ worker_id: 'lost', reports: [done(lost, { from: 'lost' })] });
    expect(late.results[0]?.status).toBe('stale_claim');
    await server.client.report({ worker_id: 'next', reports: [done(again, { from: 'next' })] });
    expect(await server.client.result(execution)).toMatchObject({ status: 'COMPLETED', result: { from: 'next' } });
    const [requeued] = (await server.client.events(execution, { event_type: 'command.requeued' })).events;
    expect(requeued?.meta).toMatchObject({ reason: 'lease_expired', attempt: 2, reclaimed_from_worker: 'lost' });
  });

  it('is told to the worker that lost it as lost', async () => {
    const execution = await start();
    await server.client.registerWorker({ name: 'lost' });
    const lost = await leaseOne(server.client, 'lost');
    const again = await leaseOne(server.client, 'next', 20_000);
    const { command_id, claim_token } = lost;
    const answer = await server.client.heartbeat({ name: 'lost', leases: [{ command_id, claim_token }] });
    expect(answer).toMatchObject({ lost: [command_id], cancelled: [] });
    await server.client.report({ worker_id: 'next', reports: [done(again)] });
    expect((await server.client.status(execution)).status).toBe('COMPLETED');
  });
});

describe('a heartbeat', () => {
  // Longer than a busy machine may pause between two heartbeats.
  const leaseMs = 2_000;
  beforeAll(async () => {
    server = await startTestServer({ env: { NOETL_COMMAND_CLAIM_LEASE_SECONDS: String(leaseMs / 1_000) } });
    await server.client.register(chain('lease/one', 1));
  });

  const leaseEnd = async (commandId: string) => {
    const [row] = await sql<{ at: Date }>(
      server.database,
      'SELECT lease_until AS at FROM noetl.command WHERE command_id = $1',
      [commandId],
    );
    return row?.at.getTime() ?? 0;
  };

  it.each(['with the leases', 'without a word about leases'])('%s keeps them alive beyond their time', async (how) => {
    const name = `alive ${how}`;
    await server.client.registerWorker({ name });
    const execution = await start();
    const { command_id, claim_token, ...command } = await leaseOne(server.client, name);
    const first = await leaseEnd(command_id);
    const leases = how === 'with the leases' ? { leases: [{ command_id, claim_token }] } : {};
    // Somebody else waits for the command for longer than the lease lasts, and gets nothing.
    const other = server.client.lease({ worker_id: 'hungry', pools: ['shared'], max: 1, wait_ms: 1.5 * leaseMs });
    let over = false;
    void other.finally(() => {
      over = true;
    });
    while (!over) {
      const answer = await server.client.heartbeat({ name, ...leases });
      expect(answer).toMatchObject({ lost: [], cancelled: [] });
      await Promise.race([other, new Promise((wake) => setTimeout(wake, 200))]);
    }
    expect((await other).commands).toEqual([]);
    expect(await leaseEnd(command_id)).toBeGreaterThan(first + leaseMs / 2);
    const { results } = await server.client.report({
      worker_id: name,
      reports: [done({ ...command, command_id, claim_token })],
    });
    expect(results[0]?.status).toBe('ok');
    expect((await server.client.status(execution)).status).toBe('COMPLETED');
  });

  it('names the commands of cancelled executions', async () => {
    await server.client.registerWorker({ name: 'told' });
    const execution = await start();
    const { command_id, claim_token } = await leaseOne(server.client, 'told');
    await server.client.cancel(execution);
    const answer = await server.client.heartbeat({ name: 'told', leases: [{ command_id, claim_token }] });
    expect(answer).toMatchObject({ cancelled: [command_id], lost: [] });
  });
});
