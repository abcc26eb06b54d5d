// A child that was started for a step which is gone, because a server died between the two. No courier runs here: the test is the courier.
import { expect, it, onTestFinished } from 'vitest';
import { createSnowflake, type Id } from '../../packages/core/src/index.js';
import { createCatalog } from '../../packages/server/src/catalog/index.js';
import { ensurePartitions, migrate, openPools } from '../../packages/server/src/db/index.js';
import { createChildStarter } from '../../packages/server/src/executions/index.js';
import { createLog } from '../../packages/server/src/log/index.js';
import { resolverOf } from '../../packages/server/src/results/index.js';
import { playbookText } from '../support/run.js';
import { ownDatabase } from '../support/server.js';

async function family() {
  const database = await ownDatabase();
  const pools = openPools({
    shards: [database.url],
    maxConnections: 4,
    acquireTimeoutMs: 10_000,
    onIdleError: () => undefined,
  });
  onTestFinished(() => pools.close());
  await migrate(pools.cluster);
  await ensurePartitions(pools.cluster, new Date());
  const ids = createSnowflake({ machineId: 7, now: Date.now });
  const nextId = (): Id => ids.next();
  const catalog = createCatalog({ pool: pools.cluster, nextId, now: () => new Date() });
  const log = createLog({
    pools,
    leaseMs: 60_000,
    world: () => ({ now: new Date().toISOString(), nextId, values: {} }),
    playbook: (id) => catalog.compiled(id),
    references: resolverOf(pools),
    tell: () => [],
    offer: () => undefined,
    committed: () => undefined,
    onBrokenSnapshot: () => undefined,
    observe: () => undefined,
  });
  await catalog.register(
    playbookText('orphans/child', '  - { step: start, tool: { kind: wait, signal: never } }'),
    'playbook',
  );
  const { catalogId } = await parentEntry(catalog);
  const parent = nextId();
  await log.append(parent, [
    {
      type: 'start',
      path: 'orphans/parent',
      catalogId,
      payload: {},
      pool: 'shared',
      parentExecutionId: null,
      parentEventId: null,
      trace: null,
    },
  ]);
  const [command] = Object.values((await log.state(parent))?.commands ?? {});
  if (command?.park?.kind !== 'child') throw new Error('the parent waits for no child');
  return { log, parent, command, child: command.park.executionId, children: createChildStarter({ log, catalog }) };
}

async function parentEntry(catalog: ReturnType<typeof createCatalog>) {
  const text = '  - { step: start, tool: { kind: playbook, path: orphans/child, return_result: true } }';
  await catalog.register(playbookText('orphans/parent', text), 'playbook');
  return { catalogId: (await catalog.find({ path: 'orphans/parent' })).catalog_id };
}

it('is cancelled when the message that started it is handed over once more', async () => {
  const { log, parent, command, child, children } = await family();
  await children.start(parent, command.commandId, child);
  // The parent goes, and the cancel that it posts was handed over before the child existed: it is lost to the child.
  await log.append(parent, [{ type: 'cancel', reason: 'changed my mind' }]);
  expect((await log.state(child))?.status).toBe('RUNNING');
  await children.start(parent, command.commandId, child);
  expect((await log.state(child))?.status).toBe('CANCELLED');
});

it('is not started at all when the step is gone before', async () => {
  const { log, parent, command, child, children } = await family();
  await log.append(parent, [{ type: 'cancel', reason: 'changed my mind' }]);
  await children.start(parent, command.commandId, child);
  expect(await log.state(child)).toBeUndefined();
});

it('is one child, however often its message is handed over', async () => {
  const { log, parent, command, child, children } = await family();
  await children.start(parent, command.commandId, child);
  const version = (await log.state(child))?.version;
  await children.start(parent, command.commandId, child);
  expect(await log.state(child)).toMatchObject({ status: 'RUNNING', version });
});
