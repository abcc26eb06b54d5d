// A cursor loop through the real server and worker: rows are claimed frame by frame until a claim brings none.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { playbookText, run } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';

/** Takes the first rows of a file: one after the other, because one claim is on its way at a time. */
const CLAIM = `
          kind: python
          claim: none
          code: |
            import json
            path = "{{ workload.file }}"
            with open(path) as handle: rows = json.load(handle)
            taken = rows[:{{ __frame_max_rows }}]
            with open(path, "w") as handle: json.dump(rows[len(taken):], handle)
            result = {"columns": ["id"], "rows": [[id] for id in taken]}`;

async function table(rows: number[]) {
  const file = join(await mkdtemp(join(tmpdir(), 'noetl-cursor-')), 'rows.json');
  await writeFile(file, JSON.stringify(rows));
  return file;
}

it('runs the body for every row, and ends when nothing is left', async () => {
  const { client } = await startTestServer();
  startTestWorker(client);
  await client.register(
    playbookText(
      'cursor/rows',
      `
  - step: start
    loop:
      iterator: row
      spec: { mode: cursor, frame: { max_rows: 3, row_concurrency: 2 } }
      cursor:${CLAIM}
    tool: { kind: shell, command: "echo {{ iter.row.id }} {{ frame.index }} >> {{ workload.file }}.ran" }
    next: { arcs: [{ step: end, when: "{{ event.name == 'loop.done' }}" }] }
  - { step: end, tool: { kind: noop, result: "{{ start.stats }}" } }
`,
    ),
  );
  const file = await table([1, 2, 3, 4, 5, 6, 7]);
  const id = await run(client, 'cursor/rows', { file });
  expect(await client.result(id)).toMatchObject({
    status: 'COMPLETED',
    result: { total: 7, success: 7, failed: 0 },
    steps: { start: { cursor: 'drained', frames: 3 } },
  });
  const ran = (await readFile(`${file}.ran`, 'utf8')).trim().split('\n').sort();
  expect(ran).toEqual(['1 0', '2 0', '3 0', '4 1', '5 1', '6 1', '7 2']);
});

it('runs the body once per frame with `process: frame`', async () => {
  const { client } = await startTestServer();
  startTestWorker(client);
  await client.register(
    playbookText(
      'cursor/frames',
      `
  - step: start
    loop:
      iterator: rows
      spec: { mode: cursor, frame: { max_rows: 2, process: frame } }
      cursor:${CLAIM}
    tool: { kind: shell, command: "echo {{ frame.rows | map(attribute='id') | join('+') }} >> {{ workload.file }}.ran" }
`,
    ),
  );
  const file = await table([1, 2, 3]);
  const id = await run(client, 'cursor/frames', { file });
  expect(await client.result(id)).toMatchObject({ status: 'COMPLETED', result: { stats: { total: 2, success: 2 } } });
  expect((await readFile(`${file}.ran`, 'utf8')).trim().split('\n')).toEqual(['1+2', '3']);
});

it('a claim that fails fails the step, and says so', async () => {
  const { client } = await startTestServer();
  startTestWorker(client);
  await client.register(
    playbookText(
      'cursor/broken',
      `
  - step: start
    loop:
      iterator: row
      spec: { mode: cursor }
      cursor: { kind: python, claim: none, code: "raise Exception('no table')" }
    tool: { kind: noop }
`,
    ),
  );
  const { status, error } = await client.result(await run(client, 'cursor/broken'));
  expect(status).toBe('FAILED');
  expect(error?.message).toContain('the claim of a frame failed');
});
