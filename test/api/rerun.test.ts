// Running executions again. A fork begins with what the old execution had done; finished effects are not repeated.
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ended, playbookText, run } from '../support/run.js';
import { startTestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { post } from './support/ask.js';

/** Each step leaves a line behind, so that a test can see what really ran. */
async function witness() {
  const file = join(await mkdtemp(join(tmpdir(), 'noetl-rerun-')), 'ran');
  const lines = async () => (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean);
  return { file, lines };
}

const LINE = playbookText(
  'again/line',
  `
  - step: start
    tool: { kind: shell, command: "echo start >> {{ workload.file }}" }
    next: middle
  - step: middle
    tool: { kind: shell, command: "echo middle >> {{ workload.file }} && test {{ workload.good }} = yes" }
    next: last
  - step: last
    tool: { kind: shell, command: "echo last >> {{ workload.file }}" }
`,
  'workload: { file: "", good: "no" }',
);

const LOOP = playbookText(
  'again/loop',
  `
  - step: start
    loop: { in: [1, 2, 3, 4], iterator: n, spec: { mode: parallel, max_in_flight: 1 } }
    tool:
      kind: shell
      command: "echo {{ n }} >> {{ workload.file }} && test {{ n }} != {{ workload.bad }}"
`,
  'workload: { file: "", bad: 3 }',
);

async function fixture() {
  const { client, url } = await startTestServer();
  startTestWorker(client);
  await client.register(LINE);
  await client.register(LOOP);
  return { client, url, ...(await witness()) };
}

it('from_failure runs the failed step again and what follows, with the changed workload', async () => {
  const { client, file, lines } = await fixture();
  const id = await run(client, 'again/line', { file });
  expect(await client.status(id)).toMatchObject({ status: 'FAILED' });
  const fork = await client.rerun(id, { mode: 'from_failure', workload: { good: 'yes' } });
  expect(fork).toMatchObject({ source_execution_id: id, status: 'started', commands_generated: 1 });
  expect(await ended(client, fork.execution_id)).toBe('COMPLETED');
  expect(await lines()).toEqual(['start', 'middle', 'middle', 'last']);
});

it('the log of a fork begins with the marked events of the old one', async () => {
  const { client, file } = await fixture();
  const id = await run(client, 'again/line', { file });
  const { execution_id: fork, copied_events } = await client.rerun(id, { mode: 'from_failure' });
  await ended(client, fork);
  const { events } = await client.events(fork, { order: 'asc', page_size: 500 });
  const marked = events.filter((event) => (event.meta as { forked_from?: unknown } | null)?.forked_from !== undefined);
  expect(marked).toHaveLength(copied_events);
  expect(events.findIndex((event) => event.event_type === 'execution.forked')).toBe(copied_events);
  expect(events.map((event) => event.stream_version)).toEqual(events.map((_, index) => index + 1));
});

it('a loop that failed goes on with the item that failed', async () => {
  const { client, file, lines } = await fixture();
  const id = await run(client, 'again/loop', { file });
  const { execution_id: fork } = await client.rerun(id, { mode: 'from_failure', workload: { bad: 0 } });
  expect(await ended(client, fork)).toBe('COMPLETED');
  expect(await lines()).toEqual(['1', '2', '3', '3', '4']);
  expect((await client.result(fork)).result).toMatchObject({ stats: { total: 4, success: 4, failed: 0 } });
});

it('from_step runs that step and what follows', async () => {
  const { client, file, lines } = await fixture();
  const id = await run(client, 'again/line', { file, good: 'yes' });
  const { execution_id: fork } = await client.rerun(id, { mode: 'from_step', step: 'last' });
  expect(await ended(client, fork)).toBe('COMPLETED');
  expect(await lines()).toEqual(['start', 'middle', 'last', 'last']);
});

it('from_event goes on from that event', async () => {
  const { client, file, lines } = await fixture();
  const id = await run(client, 'again/line', { file, good: 'yes' });
  const { events } = await client.events(id, { order: 'asc', page_size: 500 });
  const routed = events.find((event) => event.event_type === 'next.evaluated' && event.node_name === 'start');
  const { execution_id: fork } = await client.rerun(id, { mode: 'from_event', event_id: routed?.event_id ?? '' });
  expect(await ended(client, fork)).toBe('COMPLETED');
  expect(await lines()).toEqual(['start', 'middle', 'last', 'middle', 'last']);
});

it('same runs the whole playbook again, in the version it had', async () => {
  const { client, file, lines } = await fixture();
  const id = await run(client, 'again/line', { file });
  await client.register(LINE.replace('echo start', 'echo changed'));
  const { execution_id: again } = await client.rerun(id, { workload: { good: 'yes' } });
  expect(await ended(client, again)).toBe('COMPLETED');
  expect(await lines()).toEqual(['start', 'middle', 'start', 'middle', 'last']);
});

it('a cancelled execution goes on from where it was cancelled', async () => {
  const { client } = await fixture();
  await client.register(
    playbookText(
      'again/waits',
      `
  - { step: start, tool: { kind: noop }, next: pause }
  - { step: pause, tool: { kind: wait, signal: go } }
`,
    ),
  );
  const { execution_id: id } = await client.execute({ path: 'again/waits' });
  await client.cancel(id);
  const { execution_id: fork } = await client.rerun(id, { mode: 'from_failure' });
  await client.signal(fork, { name: 'go' });
  expect(await ended(client, fork)).toBe('COMPLETED');
});

it('the same request with one key is one new execution', async () => {
  const { client, file } = await fixture();
  const id = await run(client, 'again/line', { file });
  const first = await client.rerun(id, { mode: 'from_failure' }, { idempotencyKey: 'once' });
  const second = await client.rerun(id, { mode: 'from_failure' }, { idempotencyKey: 'once' });
  expect(second).toMatchObject({ execution_id: first.execution_id, status: 'duplicate' });
});

it('says what is wrong with a request', async () => {
  const { client, url, file } = await fixture();
  const id = await run(client, 'again/line', { file, good: 'yes' });
  const wrong = async (body: object) => {
    const { status, body: answer } = await post(url, `/api/executions/${id}/rerun`, body);
    return `${status} ${String(answer['error'])}`;
  };
  expect(await wrong({ mode: 'backwards' })).toMatch(/^422 .*same, from_failure, from_step, from_event/);
  expect(await wrong({ mode: 'from_failure' })).toMatch(/^422 .*nothing in it failed/);
  expect(await wrong({ mode: 'from_step', step: 'nowhere' })).toMatch(/^422 .*no step 'nowhere' \(steps: start/);
  expect(await wrong({ mode: 'from_step' })).toMatch(/^422 field 'step'/);
  expect(await wrong({ mode: 'from_event', event_id: '1' })).toMatch(/^422 .*has no event 1/);
});
