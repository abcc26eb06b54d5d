// One bad execution, or one row the database refuses, never hurts what shares its transaction.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { post } from './support/ask.js';
import { chain } from './support/playbooks.js';

const NEIGHBOURS = 30;
/** JavaScript knows a year zero, PostgreSQL does not. */
const YEAR_ZERO = '0000-01-01T00:00:00Z';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

describe('a row that the database refuses', () => {
  it('is refused alone: its neighbours in the batch are stored, and its execution goes on', async () => {
    await server.client.register(chain('poison/row', 1));
    const requests = Array.from({ length: NEIGHBOURS + 1 }, () => ({ path: 'poison/row', execution_pool: 'nobody' }));
    const started = await server.client.executeBatch(requests);
    const ids = started.results.map((result) => result.execution_id);
    const note = (id: string | undefined, more: object = {}) =>
      post(server.url, '/api/events', { execution_id: id, step: 'start', event_type: 'note.made', ...more });

    const [poisoned, ...neighbours] = await Promise.all(
      ids.map((id, index) => note(id, index === 0 ? { created_at: YEAR_ZERO } : {})),
    );
    expect(poisoned?.status).toBe(422);
    expect(neighbours.map((answer) => answer.status)).toEqual(Array(NEIGHBOURS).fill(200));
    expect((await note(ids[0])).status).toBe(200);
  });
});

describe('an execution that cannot be evaluated', () => {
  it('ends FAILED with the reason, while its neighbours complete', async () => {
    const raising = chain('poison/engine', 2, { workload: { zero: 0 } }).replace(
      'step: step_2',
      'step: step_2\n          when: "{{ 1 / zero > 1 }}"',
    );
    await server.client.register(raising);
    await server.client.register(chain('poison/fine', 2));
    startTestWorker(server.client, { concurrency: NEIGHBOURS + 1 });
    const requests = [
      { path: 'poison/engine' },
      ...Array.from({ length: NEIGHBOURS }, () => ({ path: 'poison/fine' })),
    ];
    const started = await server.client.executeBatch(requests);

    const results = await Promise.all(
      started.results.map(async ({ execution_id: id = '' }) => {
        for await (const message of server.client.stream(id)) void message;
        return server.client.result(id);
      }),
    );
    expect(results.map((result) => result.status)).toEqual(['FAILED', ...Array(NEIGHBOURS).fill('COMPLETED')]);
    expect(results[0]?.error?.message).toBe("Step 'start' failed: Template error: division by zero");
  });
});
