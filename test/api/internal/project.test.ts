// Rows of a stream, stored as they are: once each, and none stopped by another.
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../packages/core/src/index.js';
import type { TestServer } from '../../support/server.js';
import { chain } from '../support/playbooks.js';
import { sql } from '../support/sql.js';
import { logsOf, type StoredEvent } from './logs.js';
import { internalPost, startInternalServer } from './support.js';

let server: TestServer;
const { fresh, logOf, project } = logsOf(() => server, 'pipeline/two');

beforeAll(async () => {
  server = await startInternalServer();
  await server.client.register(chain('pipeline/two', 2));
});

describe('projecting rows', () => {
  it('stores a row as it is', async () => {
    const [execution, event] = [fresh(), fresh()];
    const answer = await project([
      {
        event_id: event,
        execution_id: execution,
        catalog_id: 7,
        parent_event_id: 12,
        event_type: 'call.done',
        node_id: 'fetch',
        node_name: 'fetch',
        node_type: 'http',
        status: 'COMPLETED',
        duration: 1.5,
        context: { a: 1 },
        result: { status: 'COMPLETED', context: { rows: 3 } },
        meta: { worker_id: 'w1' },
        error: 'none',
        stack_trace: 'at line 1',
        timestamp: '2026-06-17T16:48:21.379403',
      },
    ]);
    expect([answer.status, answer.body]).toEqual([200, { projected: 1, duplicates: 0 }]);
    expect(await logOf(execution)).toMatchObject([
      {
        event_id: String(event),
        stream_version: '1',
        catalog_id: '7',
        parent_event_id: '12',
        event_type: 'call.done',
        node_id: 'fetch',
        node_name: 'fetch',
        node_type: 'http',
        status: 'COMPLETED',
        duration: 1.5,
        context: { a: 1 },
        result: { status: 'COMPLETED', context: { rows: 3 } },
        meta: { worker_id: 'w1', stack_trace: 'at line 1' },
        error: 'none',
        tenant_id: 'default',
        organization_id: 'default',
        created_at: new Date('2026-06-17T16:48:21.379Z'),
      },
    ]);
  });

  it('gives what is missing its default', async () => {
    const event = fresh();
    expect((await project([{ event_id: event }])).body).toEqual({ projected: 1, duplicates: 0 });
    const [row] = await sql<StoredEvent>(server.database, 'SELECT * FROM noetl.event WHERE event_id = $1', [
      String(event),
    ]);
    expect(row).toMatchObject({
      execution_id: '0',
      catalog_id: '0',
      event_type: 'unknown',
      context: null,
      result: null,
      meta: null,
      tenant_id: 'default',
      organization_id: 'default',
    });
  });

  it('takes ids as integers or texts, blanks as absent, and ignores what it does not know', async () => {
    const execution = fresh();
    const answer = await project([
      {
        event_id: String(fresh()),
        execution_id: String(execution),
        catalog_id: '9',
        parent_event_id: '',
        duration: '',
      },
      {
        event_id: fresh(),
        execution_id: execution,
        stage_id: 4,
        nested: { x: [1] },
        timestamp: ' ',
        tenant_id: 'acme',
      },
    ]);
    expect(answer.body).toEqual({ projected: 2, duplicates: 0 });
    expect(await logOf(execution)).toMatchObject([{ catalog_id: '9' }, { catalog_id: '0', tenant_id: 'acme' }]);
  });

  it.each([
    ['2026-06-17T16:48:21', '2026-06-17T16:48:21.000Z'],
    ['2026-06-17 16:48:21.5', '2026-06-17T16:48:21.500Z'],
    ['2026-06-17T16:48:21Z', '2026-06-17T16:48:21.000Z'],
    ['2026-06-17T18:48:21+02:00', '2026-06-17T16:48:21.000Z'],
    ['2026-06-17 16:48:21.379403+00', '2026-06-17T16:48:21.379Z'],
  ])('reads the time %s', async (timestamp, expected) => {
    const execution = fresh();
    await project([{ event_id: fresh(), execution_id: execution, timestamp }]);
    expect((await logOf(execution))[0]?.created_at).toEqual(new Date(expected));
  });

  it('takes created_at where there is no timestamp', async () => {
    const execution = fresh();
    await project([{ event_id: fresh(), execution_id: execution, created_at: '2026-06-17T16:48:21' }]);
    expect((await logOf(execution))[0]?.created_at).toEqual(new Date('2026-06-17T16:48:21Z'));
  });

  it('stores an event once, whether it is sent twice or stands twice in a batch', async () => {
    const execution = fresh();
    const event = { event_id: fresh(), execution_id: execution, event_type: 'custom.note' };
    expect((await project([event, event])).body).toEqual({ projected: 1, duplicates: 1 });
    expect((await project([event])).body).toEqual({ projected: 0, duplicates: 1 });
    expect(await logOf(execution)).toHaveLength(1);
  });

  it('refuses an empty list with 400', async () => {
    expect(await project([])).toMatchObject({ status: 400, body: { error: 'events must not be empty' } });
  });

  it.each([{}, { events: 'x' }, []])('refuses the body %j with 422', async (body) => {
    expect((await internalPost(server, 'events/project', body)).status).toBe(422);
  });

  it('keeps the log of an execution without gaps when many project into it at once', async () => {
    const execution = fresh();
    const batches = Array.from({ length: 12 }, () =>
      Array.from({ length: 5 }, () => ({ event_id: fresh(), execution_id: execution, event_type: 'custom.note' })),
    );
    await Promise.all(batches.map(project));
    expect((await logOf(execution)).map((row) => Number(row.stream_version))).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  });
});

describe('a batch with bad rows', () => {
  it('stores the good ones and names the bad ones', async () => {
    const execution = fresh();
    const answer = await project([
      { event_id: fresh(), execution_id: execution, event_type: 'custom.one' },
      { execution_id: execution },
      { event_id: fresh(), execution_id: execution, timestamp: 'yesterday' },
      { event_id: fresh(), execution_id: execution, result: { rows: 3 } },
      { event_id: fresh(), execution_id: execution, duration: 'long' },
      { event_id: fresh(), execution_id: 9_000_000_000_000_000_000n },
      'nonsense',
      { event_id: fresh(), execution_id: execution, event_type: 'custom.two' },
    ]);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ projected: 2, duplicates: 0 });
    expect((answer.body.rejected as JsonObject[]).map((item) => item.index)).toEqual([1, 2, 3, 4, 5, 6]);
    expect((await logOf(execution)).map((row) => row.event_type)).toEqual(['custom.one', 'custom.two']);
  });

  it('finds by itself the row that only the database refuses', async () => {
    const execution = fresh();
    const answer = await project([
      { event_id: fresh(), execution_id: execution, event_type: 'custom.one' },
      { event_id: fresh(), execution_id: execution, created_at: '0000-01-01T00:00:00' },
      { event_id: fresh(), execution_id: execution, event_type: 'custom.two' },
    ]);
    expect(answer.body).toMatchObject({ projected: 2, rejected: [{ index: 1, error: expect.any(String) }] });
  });

  it('is refused with 422 when nothing in it can be stored', async () => {
    const answer = await project([{ event_id: 'x' }]);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ status: 422, rejected: [{ index: 0 }] });
  });
});
