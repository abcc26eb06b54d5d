// What must hold for every execution, whatever was killed on the way.
import pg from 'pg';
import { expect } from 'vitest';
import type { NoetlClient } from '../../packages/client/src/index.js';
import {
  canonicalJson,
  type EventRow,
  type ExecutionState,
  evolve,
  type Id,
  initialState,
  parseJson,
  shardFor,
} from '../../packages/core/src/index.js';
import { loadServerConfig, rebuildReadModel } from '../../packages/server/src/index.js';
import { shardSettings } from '../support/shards.js';

export const FIVE_STEPS = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: five, path: chaos/five }
workflow:
  - step: start
    tool: { kind: shell, command: "sleep 0.05; echo start" }
    next: { spec: { mode: inclusive }, arcs: [{ step: left }, { step: right }] }
  - step: left
    tool: { kind: noop }
    next: { arcs: [{ step: join }] }
  - step: right
    tool: { kind: shell, command: "sleep 0.1; echo right" }
    next: { arcs: [{ step: join }] }
  - step: join
    tool: { kind: noop }
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: noop }
`;

/** Starts the executions and gives their ids; a start that a dead server did not answer is sent again under its key. */
export async function startMany(client: NoetlClient, count: number): Promise<string[]> {
  await client.register(FIVE_STEPS);
  const started = await client.executeBatch(Array.from({ length: count }, () => ({ path: 'chaos/five' })));
  return started.results.map((result) => result.execution_id ?? '');
}

/** Resolves when some of these executions have gone some way, so that what is killed now is in the middle of things. */
export async function underWay(databases: readonly string[], events: number): Promise<void> {
  await withClients(databases, async (clients) => {
    for (;;) {
      const counts = await Promise.all(
        clients.map((db) => db.query<{ n: number }>('SELECT count(*)::int AS n FROM noetl.event')),
      );
      if (counts.reduce((sum, { rows }) => sum + (rows[0]?.n ?? 0), 0) >= events) return;
    }
  });
}

/** Follows every execution to its end over HTTP, through whatever happens to the server. */
export async function expectAllComplete(client: NoetlClient, ids: readonly string[]): Promise<void> {
  const statuses = await Promise.all(
    ids.map(async (id) => {
      for await (const message of client.stream(id)) if (message.event === 'status') return message.data.status;
      return 'stream ended early';
    }),
  );
  expect(statuses).toEqual(ids.map(() => 'COMPLETED'));
}

/** The replayed state of every execution is the one that the server shows. */
export async function expectReplayMatches(client: NoetlClient, ids: readonly string[]): Promise<void> {
  const reports = await Promise.all(ids.map((id) => client.drift(id)));
  expect(reports.filter(({ outcome }) => outcome !== 'matched')).toEqual([]);
}

/** @param databases one per shard, in their order */
export async function expectSoundLogs(databases: readonly string[], ids: readonly string[]): Promise<void> {
  await withClients(databases, async (clients) => {
    for (const id of ids as Id[]) {
      const db = clients[shardFor(id, clients.length)];
      if (db === undefined) throw new Error(`no database for execution ${id}`);
      await expectSoundLog(db, id);
    }
  });
  await expectNoDrift(databases, ids.length);
}

/** Everything that follows from the log follows from it. */
async function expectNoDrift(databases: readonly string[], executions: number): Promise<void> {
  const report = await rebuildReadModel(loadServerConfig(shardSettings(databases)), { check: true });
  expect(report).toMatchObject({ executions, drift: [], broken: [] });
}

async function expectSoundLog(db: pg.Client, id: Id): Promise<void> {
  const { rows } = await db.query<EventRow>(
    `SELECT e.*, e.stream_version::float8 AS stream_version FROM noetl.event e WHERE e.execution_id = $1 ORDER BY e.stream_version`,
    [id],
  );
  const state: ExecutionState = initialState(id);
  for (const row of rows) evolve(state, { ...row, created_at: new Date(row.created_at).toISOString() });

  const terminal = rows.filter((row) => /^playbook[._](completed|failed|cancelled)$/.test(row.event_type));
  expect(terminal.map((row) => row.event_type)).toEqual(['playbook.completed']);
  const results = rows
    .filter((row) => /^command\.(completed|failed)$/.test(row.event_type))
    .map((row) => row.command_id);
  expect(new Set(results).size, 'a command has one result').toBe(results.length);
  const entered = rows.filter((row) => row.event_type === 'step.enter').map((row) => row.node_name);
  expect([...entered].sort()).toEqual(['end', 'join', 'left', 'right', 'start']);
  expect(rows.map((row) => row.stream_version)).toEqual(rows.map((_, index) => index + 1));

  const live = await db.query(
    `SELECT status, head_version::float8 AS version, last_event_id, error FROM noetl.execution WHERE execution_id = $1`,
    [id],
  );
  expect(live.rows[0]).toEqual({
    status: state.status,
    version: state.version,
    last_event_id: state.lastEventId,
    error: state.error,
  });
  const open = await db.query(
    `SELECT count(*)::int AS n FROM noetl.command WHERE execution_id = $1 AND completed_at IS NULL`,
    [id],
  );
  expect(open.rows[0]).toEqual({ n: Object.keys(state.commands).length });
  expect(canonicalJson(parseJson(JSON.stringify(state.waiting)))).toBe('{}');
}

async function withClients(
  databases: readonly string[],
  work: (clients: readonly pg.Client[]) => Promise<void>,
): Promise<void> {
  const clients = databases.map((connectionString) => new pg.Client({ connectionString }));
  for (const client of clients) client.on('error', () => undefined);
  await Promise.all(clients.map((client) => client.connect()));
  try {
    await work(clients);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
