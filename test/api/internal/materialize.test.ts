// Native events of producers: the row that POST /api/events would write, and nothing driven by it.
import { beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../../support/server.js';
import { post } from '../support/ask.js';
import { chain } from '../support/playbooks.js';
import { done, leaseOne, workOff } from '../support/reports.js';
import { logsOf } from './logs.js';
import { startInternalServer } from './support.js';

let server: TestServer;
const { fresh, start, logOf, materialize } = logsOf(() => server, 'pipeline/two');

beforeAll(async () => {
  server = await startInternalServer();
  await server.client.register(chain('pipeline/two', 2));
});

describe('materializing native events', () => {
  const native = (id: string, more: object = {}) => ({
    execution_id: id,
    event_id: String(fresh()),
    step: 'start',
    event_type: 'custom.done',
    context: { rows: 3, token: 'abc' },
    meta: { note: 'x' },
    worker_id: 'w1',
    created_at: '2026-06-17T16:48:21.379403Z',
    ...more,
  });

  it.each([
    ['a plain event', {}],
    ['a failure', { event_type: 'custom.failed' }],
    ['a given status', { status: 'ODD' }],
    ['a payload that is no object', { context: 'text' }],
    ['a reference', { result_kind: 'ref', result_uri: 'gs://bucket/key' }],
    ['several references', { result_kind: 'refs', event_ids: [1, 2] }],
    ['a call without a command', { event_type: 'call.done' }],
    ['a name of the engine', { event_type: 'step.enter' }],
  ])('writes the very row that POST /api/events writes: %s', async (_, more) => {
    const id = await start();
    const [one, two] = [native(id, more), native(id, more)];
    expect((await post(server.url, '/api/events', one)).status).toBe(200);
    expect((await materialize([two])).body).toEqual({ materialized: 1, duplicates: 0 });
    const rows = await logOf(id);
    const of = (eventId: string) => {
      const row = rows.find((candidate) => candidate.event_id === eventId);
      if (row === undefined) throw new Error(`event ${eventId} is not in the log`);
      const { event_id: _id, stream_version: _version, tx_id: _tx, ingest_time: _time, ...rest } = row;
      return rest;
    };
    expect(of(two.event_id)).toEqual(of(one.event_id));
    await workOff(server.client);
  });

  it('does not drive: a command that is said to be completed is not', async () => {
    const id = await start();
    const command = await leaseOne(server.client);
    await materialize([
      { execution_id: id, step: 'start', event_type: 'command.completed', context: { command_id: command.command_id } },
    ]);
    const explained = await server.client.explain(id);
    expect(JSON.stringify(explained)).toContain('start');
    expect((await logOf(id)).filter((row) => row.event_type === 'command.issued')).toHaveLength(1);
    await server.client.report({ worker_id: 'w1', reports: [done(command)] });
    await workOff(server.client);
    expect((await server.client.status(id)).status).toBe('COMPLETED');
  });

  it('stores an event once', async () => {
    const id = await start();
    const event = native(id);
    await materialize([event]);
    expect((await materialize([event, event])).body).toEqual({ materialized: 0, duplicates: 2 });
    await workOff(server.client);
  });

  it('does nothing with an empty list', async () => {
    expect(await materialize([])).toMatchObject({ status: 200, body: { materialized: 0, duplicates: 0 } });
  });

  it.each([{}, { events: [] }, 'x'])('refuses the body %j with 422', async (body) => {
    expect((await materialize(body)).status).toBe(422);
  });

  it('names events of executions that do not exist, and stores the others', async () => {
    const id = await start();
    const answer = await materialize([native(String(fresh())), native(id), { step: 'x' }]);
    expect(answer.body).toMatchObject({ materialized: 1, duplicates: 0, rejected: [{ index: 0 }, { index: 2 }] });
    await workOff(server.client);
  });
});
