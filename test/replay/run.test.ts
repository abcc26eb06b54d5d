// The log of a real run, read from the database as text, folds to what the server says about the run; and a state that was stored there
// can be gone on from.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  foldReplayLog,
  type Id,
  parseExactJson,
  type ReplayEvent,
  type ReplaySubject,
  replayBody,
  restoreReplayState,
  resumeReplay,
  type StoredReplayState,
  startReplay,
  storeReplayState,
  takeReplayState,
} from '../../packages/core/src/index.js';
import { sql } from '../api/support/sql.js';
import type { TestDatabase } from '../support/postgres.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';

const PLAYBOOK = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: squares, path: replay/squares }
workflow:
  - step: start
    loop: { in: [1, 2, 3], iterator: n, spec: { mode: parallel, max_in_flight: 3 } }
    tool: { kind: python, code: "result = n * 1.0" }
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: noop }
`;

let database: TestDatabase;
let subject: ReplaySubject;
let log: ReplayEvent[];

beforeAll(async () => {
  const server = await startTestServer();
  database = server.database;
  startTestWorker(server.client);
  await server.client.register(PLAYBOOK);
  const { execution_id } = await server.client.execute({ path: 'replay/squares' });
  for await (const message of server.client.stream(execution_id)) if (message.event === 'status') break;
  subject = { tenant_id: 'default', organization_id: 'default', execution_id: execution_id as Id, projection: 'all' };
  log = await readLog(execution_id);
});

type Row = Omit<ReplayEvent, 'meta' | 'result'> & { meta: string | null; result: string | null };

async function readLog(executionId: string): Promise<ReplayEvent[]> {
  const rows = await sql<Row>(
    database,
    `SELECT event_id::text, event_type, node_name, status, command_id, worker_id, meta::text, result::text
     FROM noetl.event WHERE execution_id = $1 ORDER BY event_id`,
    [executionId],
  );
  return rows.map((row) => ({
    ...row,
    meta: parseExactJson(row.meta ?? 'null'),
    result: parseExactJson(row.result ?? 'null'),
  }));
}

const fold = (events: readonly ReplayEvent[]) => takeReplayState(foldReplayLog(startReplay(), events), subject);

describe('a run that completed', () => {
  it('folds to completed, at its last step', () => {
    expect(fold(log)).toMatchObject({
      event_count: log.length,
      last_event_type: 'playbook.completed',
      execution: { status: 'COMPLETED', last_node_name: 'end' },
    });
  });

  it('folds to the commands that the server has', async () => {
    const commands = await sql<{ command_id: string; worker_id: string; issued: string }>(
      database,
      'SELECT command_id, worker_id, event_id::text AS issued FROM noetl.command WHERE execution_id = $1 ORDER BY command_id',
      [subject.execution_id],
    );
    const folded = [...fold(log).commands.values()]
      .map(({ command_id, worker_id, issued_event_id }) => ({ command_id, worker_id, issued: issued_event_id }))
      .sort((a, b) => (a.command_id < b.command_id ? -1 : 1));
    expect(folded).toEqual(commands);
    expect(folded).toHaveLength(4);
  });

  it('folds to its loop', () => {
    expect([...fold(log).loops.values()]).toMatchObject([{ step_name: 'start', total: 3, completed: true }]);
  });
});

describe('a state in the database', () => {
  it('is gone on from, wherever the log was cut', async () => {
    const whole = replayBody(fold(log));
    for (const cut of log.keys()) {
      const row = storeReplayState(fold(log.slice(0, cut)));
      if (row === undefined) continue;
      const restored = restoreReplayState(await throughDatabase(row));
      if (!restored.usable) throw new Error(restored.problem);
      const resumed = foldReplayLog(resumeReplay(restored.state), log.slice(cut));
      expect(replayBody(takeReplayState(resumed, subject))).toBe(whole);
    }
  });
});

/** The state is a JSON string inside jsonb, so that its text comes back as it was. */
async function throughDatabase(row: StoredReplayState): Promise<StoredReplayState> {
  const [stored] = await sql<Omit<StoredReplayState, 'meta'> & { meta: string }>(
    database,
    `INSERT INTO noetl.projection_snapshot AS s (aggregate_id, aggregate_type, version, snapshot, checksum, meta)
     VALUES ($1, $2, $3, to_jsonb($4::text), $5, $6)
     ON CONFLICT (tenant_id, organization_id, aggregate_type, aggregate_id) DO UPDATE SET
       version = EXCLUDED.version, snapshot = EXCLUDED.snapshot, checksum = EXCLUDED.checksum, meta = EXCLUDED.meta
     RETURNING aggregate_id, aggregate_type, version::text, snapshot #>> '{}' AS snapshot, checksum, meta::text`,
    [row.aggregate_id, row.aggregate_type, row.version, row.snapshot, row.checksum, JSON.stringify(row.meta)],
  );
  if (stored === undefined) throw new Error('the row was not stored');
  return { ...stored, meta: parseExactJson(stored.meta) };
}
