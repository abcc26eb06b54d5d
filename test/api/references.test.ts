// Results that are too large for the log, through the real server and worker: stored once, referred to by the events, and found again by
// whoever needs them.
import { beforeAll, describe, expect, it } from 'vitest';
import type { NoetlClient, WireEvent } from '../../packages/client/src/index.js';
import type { Json, JsonObject } from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';

let server: TestServer;
let client: NoetlClient;
let playbooks = 0;

beforeAll(async () => {
  server = await startTestServer();
  client = server.client;
  startTestWorker(client);
});

interface Run {
  readonly id: string;
  readonly status: string;
  readonly error: unknown;
  readonly steps: Record<string, Json>;
  readonly events: WireEvent[];
}

async function run(workflow: string): Promise<Run> {
  playbooks += 1;
  const path = `results/p${playbooks}`;
  await client.register(
    `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: p${playbooks}, path: ${path} }\nworkflow:\n${workflow}`,
  );
  const { execution_id: id } = await client.execute({ path });
  const events: WireEvent[] = [];
  for await (const message of client.stream(id)) if (message.event === 'event') events.push(message.data);
  const { status, error, steps } = await client.result(id);
  return { id, status, error, steps, events };
}

/** 1,000 rows, about 230 KB. */
const MAKE = `|
        result = {"status": "fine", "count": 1000, "columns": ["id", "blob"], "rows": [[i, "x" * 200] for i in range(1000)]}`;

const asTool = `    tool:
      kind: python
      code: ${MAKE}`;
const asList = `    tool:
    - name: make
      kind: python
      code: ${MAKE}`;

const callDone = ({ events }: Run, step: string): JsonObject => {
  const event = events.find(({ event_type, node_name }) => event_type === 'call.done' && node_name === step);
  const { context } = (event?.result ?? {}) as { context?: { result?: JsonObject } };
  return context?.result ?? {};
};

describe.each([
  ['a tool', asTool],
  ['a list of tools', asList],
])('a large result of %s', (_, tool) => {
  let done: Run;
  beforeAll(async () => {
    done = await run(`  - step: start\n${tool}`);
  });

  it('is stored, and the event says where', async () => {
    expect(done).toMatchObject({ status: 'COMPLETED' });
    const { reference, context } = callDone(done, 'start') as { reference: JsonObject; context: JsonObject };
    expect(reference).toMatchObject({
      kind: 'result_ref',
      ref: expect.stringMatching(new RegExp(`^noetl://execution/${done.id}/result/start/\\d+$`)),
      store: 'db',
      scope: 'execution',
      meta: { bytes: expect.any(Number), media_type: 'application/json', content_type: 'application/json' },
      extracted: { status: 'fine', count: 1000 },
    });
    expect(context['data']).toMatchObject({ _ref: reference['ref'] });
    expect(JSON.stringify(await client.resolveResult(String(reference['ref'])))).toContain(
      `[999,"${'x'.repeat(200)}"]`,
    );
  });

  it('shows its small fields, the names of all, and how it begins', () => {
    expect(done.steps['start']).toMatchObject({ _store: 'kv', status: 'fine', count: 1000 });
    expect(done.steps['start']).not.toHaveProperty('rows');
    expect((done.steps['start'] as JsonObject)['_keys']).toEqual(expect.arrayContaining(['rows', 'columns']));
    expect(String((done.steps['start'] as JsonObject)['_preview']).length).toBeLessThanOrEqual(1_024);
  });

  it('leaves a small log behind', () => {
    expect(JSON.stringify(done.events).length).toBeLessThan(20_000);
  });
});

it('a small result stays in the log', async () => {
  const done = await run(`  - step: start
    tool: { kind: python, code: 'result = {"rows": [1, 2, 3]}' }`);
  expect(done.steps['start']).toEqual({ rows: [1, 2, 3] });
  expect(callDone(done, 'start')).not.toHaveProperty('reference');
});

describe('a later list of tools', () => {
  const use = (tool: string) =>
    run(`  - step: start
${asTool}
    next: { arcs: [{ step: use }] }
  - step: use
    tool:
${tool}`);

  it('reads a field that is not in the log', async () => {
    const { steps } = await use(`    - name: read
      kind: python
      input: { cell: '{{ start.rows[999][0] }}', total: '{{ start.data.rows | length }}', known: '{{ start.columns is defined }}' }
      code: 'result = [cell, total, known]'`);
    expect(steps['use']).toMatchObject({ read: [999, 1000, true] });
  });

  it('gets the whole value as an input', async () => {
    const { steps } = await use(`    - name: read
      kind: python
      input: { everything: '{{ start }}', ref: '{{ start._ref }}' }
      code: 'result = {"rows": len(everything["rows"]), "ref": ref[:8]}'`);
    expect(steps['use']).toMatchObject({ rows: 1000, ref: 'noetl://' });
  });

  it('decides by a field that is not in the log, and sets what it says once', async () => {
    const { steps } = await use(`    - name: first
      kind: noop
      set: { ctx.seen: '{{ (ctx.seen | default(0)) + start.rows[3][0] }}' }
      spec:
        policy:
          rules:
            - { when: '{{ start.rows[998][0] == 998 }}', then: { do: break } }
    - name: second
      kind: python
      code: 'result = {"reached": True}'
    next: { arcs: [{ step: end }] }
  - step: end
    tool: { kind: python, input: { seen: '{{ ctx.seen }}' }, code: 'result = seen' }`);
    expect(steps['use']).not.toHaveProperty('second');
    expect(steps['end']).toBe(3);
  });

  it('loads it with the tool artifact, its fields directly and under data', async () => {
    const { steps, status } = await run(`  - step: start
${asList}
    next: { arcs: [{ step: load }] }
  - step: load
    tool:
    - name: get
      kind: artifact
      action: get
      input: { result_ref: '{{ start._ref }}' }
    next: { arcs: [{ step: use }] }
  - step: use
    tool:
    - name: read
      kind: python
      input: { direct: '{{ load.rows[7][0] }}', below: '{{ load.data.rows[8][0] }}', all: '{{ load.data }}' }
      code: 'result = [direct, below, len(all["rows"])]'`);
    expect(status).toBe('COMPLETED');
    expect(steps['use']).toMatchObject({ read: [7, 8, 1000] });
  });
});

it('a plain tool gets the whole value as an input', async () => {
  const { steps } = await run(`  - step: start
${asTool}
    next: { arcs: [{ step: use }] }
  - step: use
    tool:
      kind: python
      input: { everything: '{{ start }}' }
      code: 'result = len(everything["rows"])'`);
  expect(steps['use']).toBe(1000);
});

it('a failed tool keeps its large result too', async () => {
  const done = await run(`  - step: start
    tool:
    - name: make
      kind: python
      code: ${MAKE}
    - name: fail
      kind: python
      code: 'raise ValueError("no")'`);
  expect(done.status).toBe('FAILED');
  expect(done.steps['start']).toMatchObject({ _ref: expect.stringContaining('/result/start/'), failed_task: 1 });
});

it('what a list of tools has set is not lost with a large result', async () => {
  const { steps } = await run(`  - step: start
    tool:
    - name: make
      kind: python
      code: ${MAKE}
      set: { ctx.rows: '{{ output.count }}' }
    next: { arcs: [{ step: use }] }
  - step: use
    tool: { kind: python, input: { n: '{{ ctx.rows }}' }, code: 'result = n' }`);
  expect(steps['use']).toBe(1000);
});

it('a result whose reference is gone fails the task that needs it, and says so', async () => {
  const done = await run(`  - step: start
    tool:
    - name: load
      kind: artifact
      action: get
      input: { result_ref: 'noetl://execution/1/result/start/2' }`);
  expect(done.status).toBe('FAILED');
  expect(JSON.stringify(done.error)).toContain('is gone');
  expect(JSON.stringify(done.error)).toContain('missing_reference');
});

it('a result can be stored by a step', async () => {
  const { steps } = await run(`  - step: start
    tool: { kind: artifact, action: put, input: { name: report, data: { total: 7 }, ttl: 1h } }
    next: { arcs: [{ step: use }] }
  - step: use
    tool:
    - name: get
      kind: artifact
      input: { ref: '{{ start.ref }}' }`);
  expect(steps['start']).toMatchObject({
    ref: expect.stringContaining('/result/report/'),
    expires_at: expect.any(String),
  });
  expect(steps['use']).toMatchObject({ total: 7 });
});

describe('the engine', () => {
  it('renders inputs, conditions, set and loops from fields that are not in the log', async () => {
    const { steps, status } = await run(`  - step: start
${asList}
    set: { ctx.last: '{{ start.rows[999][0] }}' }
    next:
      spec: { mode: exclusive }
      arcs:
        - { step: wrong, when: '{{ start.rows[5][0] != 5 }}' }
        - { step: one, when: '{{ start.data.rows | length == 1000 }}' }
  - step: wrong
    tool: { kind: python, code: 'result = 1' }
  - step: one
    tool: { kind: python, input: { cell: '{{ start.rows[7][0] }}', last: '{{ ctx.last }}' }, code: 'result = [cell, last]' }
    next: { arcs: [{ step: each }] }
  - step: each
    loop: { in: '{{ start.rows[:3] }}', iterator: row }
    tool: { kind: python, code: 'result = row[0] * 2' }`);
    expect(status).toBe('COMPLETED');
    expect(steps).not.toHaveProperty('wrong');
    expect(steps['one']).toEqual([7, 999]);
    expect(steps['each']).toMatchObject({ results: [0, 2, 4] });
  });

  it('loops over a list that is too large for the log', async () => {
    const { steps } = await run(`  - step: start
    tool: { kind: python, code: 'result = ["x" * 30000, "y" * 30000, "z" * 30000]' }
    next: { arcs: [{ step: each }] }
  - step: each
    loop: { in: '{{ start }}', iterator: word, spec: { mode: parallel, max_in_flight: 3 } }
    tool: { kind: python, code: 'result = word[0]' }`);
    expect(steps['each']).toMatchObject({ results: ['x', 'y', 'z'] });
  });

  it('reads large results of the items of a loop', async () => {
    const { steps } = await run(`  - step: start
    loop: { in: 2, iterator: n }
    tool: { kind: python, code: 'result = {"n": n, "text": "x" * 70000}' }
    next: { arcs: [{ step: use }] }
  - step: use
    tool: { kind: python, input: { size: '{{ start.results[1].text | length }}' }, code: 'result = size' }`);
    expect(steps['use']).toBe(70_000);
  });

  it('follows a reference that was kept in the context, or given to another playbook', async () => {
    await client.register(`apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: child, path: results/child }
workflow:
  - step: start
    tool: { kind: python, input: { cell: '{{ workload.table.rows[5][0] }}', all: '{{ workload.table }}' }, code: 'result = {"cell": cell, "rows": len(all["rows"])}' }`);
    const { steps, status } = await run(`  - step: start
${asTool}
    set: { ctx.table: '{{ start }}' }
    next: { arcs: [{ step: call }] }
  - step: call
    tool: { kind: playbook, path: results/child, input: { table: '{{ ctx.table }}' }, return_step: start }
    next: { arcs: [{ step: use }] }
  - step: use
    tool: { kind: python, input: { cell: '{{ ctx.table.rows[6][0] }}' }, code: 'result = cell' }`);
    expect(status).toBe('COMPLETED');
    expect(JSON.stringify(steps['call'])).toContain('"cell":5');
    expect(JSON.stringify(steps['call'])).toContain('"rows":1000');
    expect(steps['use']).toBe(6);
  });

  it('fails the step whose input needs a result that is gone', async () => {
    const { status, error } = await run(`  - step: start
    tool: { kind: noop, result: { _ref: 'noetl://execution/1/result/start/2' } }
    next: { arcs: [{ step: use }] }
  - step: use
    tool: { kind: python, input: { x: '{{ start.rows[0] }}' }, code: 'result = x' }`);
    expect(status).toBe('FAILED');
    expect(JSON.stringify(error)).toContain('is gone');
  });
});
