// The playbooks we ship for carrying the outbox to NATS and for advancing snapshots from the event stream, run as an operator runs them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { buildProgram } from '../../packages/cli/src/program.js';
import type { JsonObject } from '../../packages/core/src/index.js';
import { putRows } from '../api/internal/outbox-rows.js';
import { startInternalServer, TOKEN } from '../api/internal/support.js';
import { chain } from '../api/support/playbooks.js';
import { workOff } from '../api/support/reports.js';
import { sql } from '../api/support/sql.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import { ended } from '../support/run.js';
import type { TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { messagesIn, until, withNats } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'noetl-token-'));
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, `${TOKEN}\n`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shipped = (name: string) => readFileSync(new URL(`../../playbooks/system/${name}.yaml`, import.meta.url), 'utf8');

/** A server that knows the playbook, and a worker of the pool that runs it. */
async function startSystem(name: string, env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startInternalServer({ env });
  await server.client.register(shipped(name));
  startTestWorker(server.client, { pools: ['system'] });
  return server;
}

async function runShipped(
  { client }: TestServer,
  name: string,
  nats: TestNats,
  payload: JsonObject = {},
): Promise<{ id: string; status: string; error: string | null }> {
  const { execution_id: id } = await client.execute({
    path: `system/${name}`,
    payload: { token_file: tokenFile, nats_url: nats.url, ...payload },
  });
  await ended(client, id);
  const { status, error } = await client.status(id);
  return { id, status, error: error ?? null };
}

describe('the playbooks that come with the product', () => {
  const system = fileURLToPath(new URL('../../playbooks/', import.meta.url));
  /** The command as it is typed: its exit code. */
  async function noetl(...args: string[]): Promise<number | undefined> {
    let code: number | undefined;
    const program = buildProgram('0', (ended) => {
      code = ended;
    });
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await program.parseAsync(['node', 'noetl', ...args]);
    } finally {
      vi.restoreAllMocks();
    }
    return code;
  }

  it('validate', async () => {
    expect(await noetl('validate', system)).toBe(0);
  });

  it('pass their own tests, in any order', async () => {
    expect(await noetl('test', system, '--shuffle')).toBe(0);
  });
});

describe('the playbook system/outbox_publisher', () => {
  const publish = (server: TestServer, nats: TestNats, payload: JsonObject = {}) =>
    runShipped(server, 'outbox_publisher', nats, payload);
  const outbox = ({ database }: TestServer) =>
    sql<{ status: string; n: number }>(
      database,
      'SELECT status, count(*)::int AS n FROM noetl.outbox GROUP BY status ORDER BY status',
    );

  async function natsWithStream(): Promise<TestNats> {
    const nats = await startTestNats();
    await withNats(nats, (_connection, manager) =>
      manager.streams.add({ name: 'noetl_events', subjects: ['noetl.events.>'] }),
    );
    return nats;
  }

  it('carries every mirrored event to the stream, under its subject and message id, and ends although it is mirrored itself', async () => {
    const nats = await natsWithStream();
    const server = await startSystem('outbox_publisher', { NOETL_EVENT_MIRROR_ENABLED: 'true' });
    await server.client.register(chain('mirrored/two', 2));
    const { execution_id } = await server.client.execute({ path: 'mirrored/two' });
    await workOff(server.client);

    expect(await publish(server, nats, { batch_size: 4 })).toMatchObject({ status: 'COMPLETED' });
    const rows = await sql<{ event_id: string; event_type: string }>(
      server.database,
      'SELECT event_id, event_type FROM noetl.event WHERE execution_id = $1 ORDER BY stream_version',
      [execution_id],
    );
    const seen = (await messagesIn(nats)).filter(({ body }) => String(body['execution_id']) === execution_id);
    expect(seen.map(({ subject, messageId, eventId }) => ({ subject, messageId, eventId }))).toEqual(
      rows.map(({ event_id, event_type }) => ({
        subject: `noetl.events.${event_type}`,
        messageId: `event:${execution_id}:${event_id}`,
        eventId: event_id,
      })),
    );
  });

  it('run three times at once publishes every row once', async () => {
    const nats = await natsWithStream();
    const server = await startSystem('outbox_publisher');
    await putRows(server.database, 300);
    const runs = await Promise.all([1, 2, 3].map(() => publish(server, nats, { batch_size: 20 })));
    expect(runs.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
    expect((await messagesIn(nats)).map(({ body }) => Number(body['n'])).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 300 }, (_, index) => index + 1),
    );
    expect(await outbox(server)).toEqual([{ status: 'PUBLISHED', n: 300 }]);
  });

  it('marks a row as failed that no stream takes, and publishes the others', async () => {
    const nats = await natsWithStream();
    const server = await startSystem('outbox_publisher');
    await putRows(server.database, 2);
    await putRows(server.database, 1, { subject: 'nobody.listens', execution_id: '331000000000000002' });
    const { id, status } = await publish(server, nats);
    expect(status).toBe('COMPLETED');
    expect((await server.client.result(id)).result).toMatchObject({ mark: { rounds: 1, published: 2, failed: 1 } });
    expect(await sql(server.database, 'SELECT status, last_error FROM noetl.outbox ORDER BY outbox_id')).toEqual([
      { status: 'PUBLISHED', last_error: null },
      { status: 'PUBLISHED', last_error: null },
      { status: 'FAILED', last_error: expect.stringContaining('no stream takes this') },
    ]);
  });

  it('leaves to a later claim what is too large for one round', async () => {
    const nats = await natsWithStream();
    const server = await startSystem('outbox_publisher');
    await putRows(server.database, 3);
    expect(await publish(server, nats, { max_bytes: 1, max_rounds: 1 })).toMatchObject({ status: 'COMPLETED' });
    expect(await outbox(server)).toEqual([
      { status: 'FAILED', n: 2 },
      { status: 'PUBLISHED', n: 1 },
    ]);
  });

  it('gives its rows back and fails when NATS is away; a later run publishes them', async () => {
    const nats = await natsWithStream();
    const server = await startSystem('outbox_publisher');
    await putRows(server.database, 3);
    await nats.kill();
    expect(await publish(server, nats)).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('3 rows were not published and are tried again later'),
    });
    expect(await outbox(server)).toEqual([{ status: 'FAILED', n: 3 }]);
    await nats.restart();
    await sql(server.database, 'UPDATE noetl.outbox SET available_at = now()');
    expect(await publish(server, nats)).toMatchObject({ status: 'COMPLETED' });
    expect(await messagesIn(nats)).toHaveLength(3);
  });

  it('writes a handful of events however much it carries, and no token', async () => {
    const nats = await natsWithStream();
    const server = await startSystem('outbox_publisher');
    await putRows(server.database, 100);
    const { id } = await publish(server, nats, { batch_size: 10 });
    const { events } = await server.client.events(id, { page: 1, page_size: 500 });
    expect(events.length).toBeLessThan(20);
    expect(JSON.stringify(events)).not.toContain(TOKEN);
  });
});

describe('the playbook system/projector', () => {
  const streaming = (nats: TestNats) => ({ NOETL_NATS_URL: nats.url, NOETL_EVENT_STREAM_ENABLED: 'true' });
  const unacknowledged = (nats: TestNats) =>
    withNats(nats, async (_connection, manager) => {
      const { num_ack_pending } = await manager.consumers.info('noetl_events', 'noetl_projector');
      return num_ack_pending;
    });

  /** An execution that has begun, and whose events are in the stream. */
  async function startedExecution(server: TestServer, nats: TestNats): Promise<string> {
    await server.client.register(chain('projected/two', 2));
    const { execution_id } = await server.client.execute({ path: 'projected/two' });
    await until(
      () => messagesIn(nats),
      (all) => all.filter(({ body }) => String(body['execution_id']) === execution_id).length >= 3,
    );
    return execution_id;
  }
  const snapshot = ({ database }: TestServer, id: string) =>
    sql<{ version: string; newest: string }>(
      database,
      `SELECT s.version::text AS version, (SELECT max(event_id)::text FROM noetl.event WHERE execution_id = $1) AS newest
       FROM noetl.projection_snapshot s WHERE s.aggregate_id = $1::text`,
      [id],
    );

  it('stores the snapshot of an execution whose events came, and acknowledges them', async () => {
    const nats = await startTestNats();
    const server = await startSystem('projector', streaming(nats));
    const execution = await startedExecution(server, nats);
    expect(await snapshot(server, execution)).toEqual([]);
    expect(await runShipped(server, 'projector', nats, { batch: 2 })).toMatchObject({ status: 'COMPLETED' });
    const [stored] = await snapshot(server, execution);
    expect(stored?.version).toBe(stored?.newest);
    expect(await unacknowledged(nats)).toBe(0);
  });

  it('that the server does not let in acknowledges nothing', async () => {
    const nats = await startTestNats();
    const server = await startSystem('projector', streaming(nats));
    const execution = await startedExecution(server, nats);
    const wrong = join(folder, 'wrong');
    writeFileSync(wrong, 'wrong');
    expect(await runShipped(server, 'projector', nats, { token_file: wrong })).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('403'),
    });
    expect(await snapshot(server, execution)).toEqual([]);
    expect(await unacknowledged(nats)).toBeGreaterThan(0);
  });
});
