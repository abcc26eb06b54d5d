// GET /api/replay/state: the contract of the endpoint, on logs that are in the database as rows.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type Id,
  idFromTimestampMs,
  parseExactJson,
  replayBody,
  startReplay,
  takeReplayState,
} from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { sql } from './support/sql.js';

let server: TestServer;
/** Partitions are there for executions of these days. */
let lastId = BigInt(idFromTimestampMs(Date.now()));

beforeAll(async () => {
  server = await startTestServer();
});

/** A log of so many events, one a second from 2026-11-16T00:00:00Z on, with ids that leave gaps of ten. */
async function insertLog(events: number, first = 1): Promise<Id> {
  if (first === 1) lastId += 1_000_000n;
  const id = lastId;
  await sql(
    server.database,
    `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, node_name, status, command_id, meta, created_at)
     SELECT $1::bigint, $1::bigint + n * 10, n, 1, (ARRAY['step.enter', 'command.issued', 'command.completed'])[n % 3 + 1], 'step_' || n % 7, 'COMPLETED',
       'c' || n % 50, jsonb_build_object('n', n, 'share', 1.0), '2026-11-16T00:00:00Z'::timestamptz + n * interval '1 s'
     FROM generate_series($2::int, $3::int) AS n`,
    [id.toString(), first, events],
  );
  return id.toString() as Id;
}

function eventOf(id: Id, version: number): string {
  return String(BigInt(id) + BigInt(version) * 10n);
}

async function ask(query: Record<string, string>): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`${server.url}/api/replay/state?${new URLSearchParams(query)}`);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function state(query: Record<string, string>) {
  const { status, text } = await ask(query);
  expect({ status, text }).toMatchObject({ status: 200 });
  return parseExactJson(text) as Record<string, never>;
}

describe('an execution without events', () => {
  it('folds to UNKNOWN, byte for byte the state of an empty log', async () => {
    const { status, text } = await ask({ execution_id: '1' });
    const subject = {
      tenant_id: 'default',
      organization_id: 'default',
      execution_id: '1' as Id,
      projection: 'all',
    } as const;
    expect({ status, text }).toEqual({ status: 200, text: replayBody(takeReplayState(startReplay(), subject)) });
    expect(text).toContain('a3f25246832a81e6682a7f29cb4c0650b4ce0def59a264854a63da152d36fdcf');
  });
});

describe('the body', () => {
  it('has ids as integers with every digit', async () => {
    const id = await insertLog(3);
    const { text } = await ask({ execution_id: id });
    expect(text).toContain(`"execution_id":${id},`);
    expect(text).toContain(`"last_event_id":${eventOf(id, 3)},`);
  });

  it('repeats tenant, organization and projection', async () => {
    const id = await insertLog(1);
    const query = { execution_id: id, tenant_id: 'acme', organization_id: 'ops', projection: 'loop' };
    expect(await state(query)).toMatchObject({
      tenant_id: 'acme',
      organization_id: 'ops',
      projection: 'loop',
      event_count: 1,
    });
  });

  it('is not sent again to who has it', async () => {
    const id = await insertLog(2);
    const { headers } = await ask({ execution_id: id });
    const again = await fetch(`${server.url}/api/replay/state?execution_id=${id}`, {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  });
});

describe('cutoffs', () => {
  it('fold up to and including an event id', async () => {
    const id = await insertLog(9);
    const at = eventOf(id, 4);
    expect(await state({ execution_id: id, as_of_event_id: at })).toMatchObject({
      event_count: 4,
      last_event_id: BigInt(at),
    });
    expect(await state({ execution_id: id, as_of_position: at })).toMatchObject({ event_count: 4 });
    expect(await state({ execution_id: id, as_of_event_id: '0' })).toMatchObject({ event_count: 0 });
  });

  it.each(['2026-11-16T00:00:04Z', '2026-11-16T02:00:04+02:00', '2026-11-15 19:00:04.000000-05:00'])(
    'fold what had happened by %s',
    async (as_of_time) => {
      const id = await insertLog(9);
      expect(await state({ execution_id: id, as_of_time })).toMatchObject({ event_count: 4 });
    },
  );

  it('by time mean the same moment whatever time zone the database speaks', async () => {
    const id = await insertLog(9);
    await sql(server.database, `ALTER DATABASE ${server.database.name} SET timezone = 'Asia/Tokyo'`);
    const other = await startTestServer({ database: server.database });
    const response = await fetch(`${other.url}/api/replay/state?execution_id=${id}&as_of_time=2026-11-16T00:00:04Z`);
    expect(parseExactJson(await response.text())).toMatchObject({ event_count: 4 });
    await other.close();
  });

  it('can be only one', async () => {
    const { status, text } = await ask({
      execution_id: '1',
      as_of_event_id: '1',
      as_of_time: '2026-11-16T00:00:00Z',
      projection: 'x',
    });
    expect(JSON.parse(text)).toMatchObject({
      error: 'Use only one replay cutoff: as_of_event_id, as_of_position, or as_of_time',
      status,
    });
    expect(status).toBe(400);
  });
});

describe('bad parameters', () => {
  it.each([
    [{}, "query 'execution_id' is missing: which execution?"],
    [{ execution_id: 'x' }, "query 'execution_id' must be an integer"],
    [{ execution_id: '1', as_of_event_id: '1.5' }, "query 'as_of_event_id' must be an integer"],
    [{ execution_id: '1', limit: 'many' }, "query 'limit' must be an integer or 'all'"],
    [{ execution_id: '1', resolve_payloads: '1' }, "query 'resolve_payloads' must be true or false"],
    [
      { execution_id: '1', projection: 'a"b' },
      'unknown projection "a\\"b"; expected one of: execution, stage, frame, command, business_object, loop, all',
    ],
    [
      { execution_id: '1', as_of_time: '2026-11-16T00:00:00' },
      "query 'as_of_time' must be a time with its zone, like 2026-11-16T04:00:00Z (write + as %2B in an address)",
    ],
  ])('%o are refused', async (query, error) => {
    const { status, text } = await ask(query as Record<string, string>);
    expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 400, error });
  });

  it('include a parameter that is given twice', async () => {
    const response = await fetch(`${server.url}/api/replay/state?execution_id=1&limit=1&limit=2`);
    expect(await response.json()).toMatchObject({ status: 400, error: "query 'limit' is given more than once" });
  });
});

describe('the limit', () => {
  it('keeps the oldest events and tells where the log goes on', async () => {
    const id = await insertLog(9);
    const { text, headers } = await ask({ execution_id: id, limit: '4' });
    expect(parseExactJson(text)).toMatchObject({ event_count: 4 });
    expect(headers.get('x-noetl-replay-truncated')).toBe('true');
    expect(headers.get('x-noetl-replay-next-event-id')).toBe(eventOf(id, 5));
  });

  it('says nothing when nothing was left out', async () => {
    const id = await insertLog(9);
    const { text, headers } = await ask({ execution_id: id, limit: '9' });
    expect(parseExactJson(text)).toMatchObject({ event_count: 9 });
    expect(headers.get('x-noetl-replay-truncated')).toBeNull();
  });

  it.each([
    ['0', 1],
    ['-5', 1],
    ['999999999', 9],
    ['all', 9],
  ])('%s means %i of 9 events', async (limit, event_count) => {
    const id = await insertLog(9);
    expect(await state({ execution_id: id, limit })).toMatchObject({ event_count });
  });
});

describe('payloads', () => {
  it('are told by checksum, size and rows, and never shown', async () => {
    const id = await insertLog(1);
    const rows = [{ n: 1.5 }, { n: 2 }];
    const { ref } = await server.client.putResult(id, { name: 'rows', data: rows });
    await insertReference(id, 2, { ref });
    await insertReference(id, 3, { ref: `${ref}9` });
    const plain = await state({ execution_id: id });
    const body = await state({ execution_id: id, resolve_payloads: 'true' });
    expect(body).toMatchObject({
      checksum: plain['checksum'],
      payload_resolution: [
        { scope: 'execution', resolution: { ref, resolved: true, row_count: 2, value_type: 'list', error: null } },
        { resolution: { resolved: false, checksum: null } },
      ],
      payload_resolution_summary: { total: 2, resolved: 1, unresolved: 1, unique_refs: 2, all_resolved: false },
    });
    expect(plain).not.toHaveProperty('payload_resolution');
  });
});

async function insertReference(id: Id, version: number, reference: object): Promise<void> {
  await sql(
    server.database,
    `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type, result) VALUES ($1, $2, $3, 1, 'call.done', $4)`,
    [id, eventOf(id, version), version, { status: 'success', reference }],
  );
}

describe('a long log', () => {
  const LONG = 25_000;

  it('is folded whole, over many pages, to what one page at a time gives', async () => {
    const id = await insertLog(LONG);
    const whole = await ask({ execution_id: id, limit: 'all' });
    expect(parseExactJson(whole.text)).toMatchObject({ event_count: LONG });
    await stored(id, 1);
    const seeded = await ask({ execution_id: id, limit: 'all' });
    expect(seeded.headers.get('x-noetl-replay-seed')).toBe(eventOf(id, LONG));
    expect(seeded.text).toBe(whole.text);
  });

  it('that has grown is gone on with from the stored state', async () => {
    const id = await insertLog(12_000);
    await ask({ execution_id: id, limit: 'all' });
    await stored(id, 1);
    await insertLog(12_500, 12_001);
    const seeded = await ask({ execution_id: id, limit: 'all' });
    expect(seeded.headers.get('x-noetl-replay-seed')).toBe(eventOf(id, 12_000));
    await forget(id);
    const whole = await ask({ execution_id: id, limit: 'all' });
    expect(whole.headers.get('x-noetl-replay-seed')).toBeNull();
    expect(seeded.text).toBe(whole.text);
  });

  it('begins with the newest stored state that the cutoff admits', async () => {
    const id = await insertLog(LONG);
    const at = (event: number) => eventOf(id, event);
    await ask({ execution_id: id, limit: 'all', as_of_event_id: at(12_000) });
    await stored(id, 1);
    await ask({ execution_id: id, limit: 'all' });
    await stored(id, 2);
    const seedOf = async (query: Record<string, string>) =>
      (await ask({ execution_id: id, ...query })).headers.get('x-noetl-replay-seed');
    expect(await seedOf({ limit: 'all', as_of_event_id: at(20_000) })).toBe(at(12_000));
    expect(await seedOf({ limit: 'all', as_of_event_id: at(11_999) })).toBeNull();
    expect(await seedOf({ limit: '11000' })).toBeNull();
    expect(
      await seedOf({ limit: 'all', as_of_time: new Date(Date.UTC(2026, 10, 16) + 12_000_000).toISOString() }),
    ).toBe(at(12_000));
    expect(
      await seedOf({ limit: 'all', as_of_time: new Date(Date.UTC(2026, 10, 16) + 11_999_000).toISOString() }),
    ).toBeNull();
  });

  it.each([
    ['was changed', `snapshot = to_jsonb(replace(snapshot #>> '{}', '"event_count":12000', '"event_count":12001'))`],
    ['is no state', `snapshot = '"nonsense"'`],
    ['has another checksum', `checksum = 'x'`],
  ])('is folded from its beginning when the stored state %s', async (_, change) => {
    const id = await insertLog(12_000);
    const whole = await ask({ execution_id: id, limit: 'all' });
    await stored(id, 1);
    await sql(server.database, `UPDATE noetl.projection_snapshot SET ${change} WHERE aggregate_id LIKE $1`, [
      `execution/${id}/%`,
    ]);
    const ignored = await metric('noetl_replay_snapshots_total{outcome="ignored"}');
    const again = await ask({ execution_id: id, limit: 'all' });
    expect(again.headers.get('x-noetl-replay-seed')).toBeNull();
    expect(again.text).toBe(whole.text);
    expect(await metric('noetl_replay_snapshots_total{outcome="ignored"}')).toBe(ignored + 1);
  });

  it('is folded from its beginning when an event came late with an early id', async () => {
    const id = await insertLog(12_000);
    await ask({ execution_id: id, limit: 'all' });
    await stored(id, 1);
    await sql(
      server.database,
      `INSERT INTO noetl.event (execution_id, event_id, stream_version, catalog_id, event_type) VALUES ($1::bigint, $1::bigint + 55, 12001, 1, 'note')`,
      [id],
    );
    expect(await state({ execution_id: id, limit: 'all' })).toMatchObject({ event_count: 12_001 });
  });
});

afterEach(async () => {
  await sql(server.database, `ALTER DATABASE ${server.database.name} RESET timezone`);
});

/** Resolves when so many states of the execution are stored: they are written after the answer. */
async function stored(id: Id, count: number): Promise<void> {
  await expect
    .poll(async () => {
      const rows = await sql(server.database, 'SELECT 1 FROM noetl.projection_snapshot WHERE aggregate_id LIKE $1', [
        `execution/${id}/%`,
      ]);
      return rows.length;
    })
    .toBe(count);
}

async function forget(id: Id): Promise<void> {
  await sql(server.database, 'DELETE FROM noetl.projection_snapshot WHERE aggregate_id LIKE $1', [`execution/${id}/%`]);
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}
