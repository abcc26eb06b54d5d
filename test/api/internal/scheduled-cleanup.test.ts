// The playbook we ship for cleaning up, run as an operator runs it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../packages/core/src/index.js';
import type { TestServer } from '../../support/server.js';
import { startTestWorker } from '../../support/worker.js';
import { putRows } from './outbox-rows.js';
import { startInternalServer, TOKEN } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'noetl-token-'));
const playbook = readFileSync(new URL('../../../playbooks/system/scheduled_cleanup.yaml', import.meta.url), 'utf8');
let server: TestServer;

beforeAll(async () => {
  server = await startInternalServer();
  await server.client.register(playbook);
  startTestWorker(server.client, { pools: ['system'] });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(token: string, payload: JsonObject = {}): Promise<{ id: string; status: string; data: JsonObject }> {
  const token_file = join(folder, 'token');
  writeFileSync(token_file, `${token}\n`);
  const { execution_id: id } = await server.client.execute({
    path: 'system/scheduled_cleanup',
    payload: { ...payload, token_file },
  });
  for await (const message of server.client.stream(id)) {
    if (message.event === 'status' && message.data.status !== 'RUNNING') break;
  }
  const { status, result } = await server.client.result(id);
  return { id, status, data: (result ?? {}) as JsonObject };
}

describe('the playbook system/scheduled_cleanup', () => {
  it('removes what is old by its own defaults', async () => {
    await putRows(server.database, 2, { status: 'PUBLISHED', published_at: new Date(Date.now() - 2 * 86_400_000) });
    const { status, data } = await run(TOKEN);
    expect([status, JSON.stringify(data)]).toEqual(['COMPLETED', expect.stringContaining('"outbox_purged":2')]);
  });

  it('takes another policy as its inputs', async () => {
    await putRows(server.database, 1, { status: 'PUBLISHED', published_at: new Date(Date.now() - 2 * 86_400_000) });
    const { data } = await run(TOKEN, { outbox_retention_hours: 100, dry_run: true });
    expect(JSON.stringify(data)).not.toContain('outbox_purged');
    expect(JSON.stringify(data)).toContain('"dry_run":true');
  });

  it('leaves no token in the log', async () => {
    const { id } = await run(TOKEN);
    expect(JSON.stringify(await server.client.events(id, { page: 1, page_size: 500 }))).not.toContain(TOKEN);
  });

  it('fails when the server does not know its token', async () => {
    const { id, status } = await run('wrong');
    expect(status).toBe('FAILED');
    expect((await server.client.status(id)).error).toContain('403');
  });
});
