// Before a server does anything else: every database answers, has the newest schema, and is what it was the last time.
import { randomUUID } from 'node:crypto';
import { shardFor } from '@noetl/core';
import type pg from 'pg';
import { ConfigError } from '../config.js';
import { ensurePartitions, migrate, type Pools } from '../db/index.js';
import { misplacement, type Names } from './placement.js';
import { clusterRole, rememberCluster, rememberShard, settle, shardRole, someExecutions } from './store.js';

/** Servers that start together agree one after the other. */
const LOCK_KEY = 7_306_081_949;
/** With two shards, the chance that a database in the wrong place goes unnoticed is 1 in 2 to this power. */
const SAMPLE = 100;

export interface Addresses {
  /** One connection string per shard. */
  readonly shards: readonly string[];
  readonly cluster?: string;
}

export interface PrepareOptions {
  onMigrated?(database: string, applied: readonly string[]): void;
}

export async function prepareDatabases(
  pools: Pools,
  addresses: Addresses,
  { onMigrated }: PrepareOptions = {},
): Promise<void> {
  const names = namesOf(addresses);
  const databases = new Map<pg.Pool, string>([[pools.cluster, names.cluster]]);
  for (const [index, shard] of pools.shards.entries()) databases.set(shard.pool, names.shards[index] ?? shard.name);
  await Promise.all(
    [...databases].map(async ([pool, name]) => {
      try {
        const applied = await migrate(pool);
        if (applied.length > 0) onMigrated?.(name, applied);
        await ensurePartitions(pool, new Date());
      } catch (error) {
        // One database needs no name: the reader knows which, and the code of the error is worth more.
        if (databases.size === 1) throw error;
        throw new ConfigError(`${name}: ${reasonOf(error)}`, { cause: error });
      }
    }),
  );
  await takePlaces(pools, names);
}

async function takePlaces(pools: Pools, names: Names): Promise<void> {
  const cluster = await pools.cluster.connect();
  try {
    await cluster.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    try {
      await agree(cluster, pools, names);
    } finally {
      await cluster.query('SELECT pg_advisory_unlock($1)', [LOCK_KEY]).catch(() => undefined);
    }
  } finally {
    cluster.release();
  }
}

async function agree(cluster: pg.PoolClient, pools: Pools, names: Names): Promise<void> {
  const role = await clusterRole(cluster);
  const shards = await Promise.all(pools.shards.map((shard) => shardRole(shard.pool)));
  const problem = misplacement({ cluster: role, shards }, names);
  if (problem !== undefined) throw new ConfigError(problem);
  if (role?.settled === true) return;

  const count = shards.length;
  const nameOf = (index: number) => names.shards[index] ?? `shard ${index}`;
  for (const { index, pool } of pools.shards) {
    const stranger = (await someExecutions(pool, SAMPLE)).find((id) => shardFor(id, count) !== index);
    if (stranger === undefined) continue;
    throw new ConfigError(
      `${nameOf(index)} holds execution ${stranger}, which belongs to shard ${shardFor(stranger, count)} of ${count}: the databases are not those of before, or not in the same order`,
    );
  }
  // The mark that all is done comes last: after a crash in between the next start does it again.
  const installation = role?.installation ?? randomUUID();
  await rememberCluster(cluster, installation, count);
  for (const { index, pool } of pools.shards) await rememberShard(pool, { installation, index, count });
  for (const { index, pool } of pools.shards) {
    if ((await shardRole(pool))?.index === index) continue;
    throw new ConfigError(`${nameOf(index)} is named twice: every shard needs a database of its own`);
  }
  await settle(cluster);
}

/** How a message calls each database: the setting and the address, never the password. */
function namesOf({ shards, cluster }: Addresses): Names {
  const name = (setting: string, url: string) => `${setting} (${addressOf(url)})`;
  const first = shards[0] ?? '';
  const single = shards.length === 1;
  return {
    shards: shards.map((url, index) =>
      single ? `The database ${addressOf(url)}` : name(`NOETL_SHARDS[${index}]`, url),
    ),
    cluster:
      cluster === undefined
        ? single
          ? `The database ${addressOf(first)}`
          : name('NOETL_SHARDS[0]', first)
        : name('NOETL_CLUSTER_DSN', cluster),
  };
}

function addressOf(connectionString: string): string {
  if (!URL.canParse(connectionString)) return 'an unreadable address';
  const { hostname, port, pathname } = new URL(connectionString);
  return `${hostname}:${port || '5432'}${decodeURIComponent(pathname)}`;
}

function reasonOf(error: unknown): string {
  // Node gives one error for several addresses of a host name, and no message of its own.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
