// The append statement is planned once per connection, often on empty tables, and the plan is kept. It must be the plan for full tables.
import { expect, it } from 'vitest';
import { migrate, openPools } from '../../packages/server/src/db/index.js';
import { APPEND } from '../../packages/server/src/log/store.js';
import { ownDatabase } from '../support/server.js';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

it('finds every row it changes by key, whatever the tables held when it was planned', async () => {
  const database = await ownDatabase();
  const pools = openPools({
    shards: [database.url],
    maxConnections: 2,
    acquireTimeoutMs: 10_000,
    onIdleError: () => undefined,
  });
  await migrate(pools.cluster);
  const [shard] = pools.shards;
  const writer = await shard?.writer.connect();
  await writer?.query(
    `PREPARE append (jsonb, bigint[], jsonb, jsonb, jsonb, float8, bigint[], jsonb, jsonb) AS ${APPEND}`,
  );
  const plan = await writer?.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (FORMAT JSON) EXECUTE append ('[]', '{}', '[]', '[]', '[]', 1000, '{}', '[]', '[]')`,
  );
  writer?.release();
  await pools.close();

  const walks = flatten(plan?.rows[0]?.['QUERY PLAN'][0].Plan)
    .filter((node) => /Scan/.test(node['Node Type']) && node['Index Cond'] === undefined)
    // A bitmap heap scan has its condition in the index scan below it.
    .filter((node) => node['Relation Name'] !== undefined && node['Node Type'] !== 'Bitmap Heap Scan');
  expect(walks).toEqual([]);
});

function flatten(node: PlanNode | undefined): PlanNode[] {
  return node === undefined ? [] : [node, ...(node.Plans ?? []).flatMap(flatten)];
}
