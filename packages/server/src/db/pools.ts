// Where data lives. Per-execution tables are found through `forExecution`, everything else through `cluster`; with one database
// both are the same pool, and no caller can tell the difference. Nothing ever spans two shards in one transaction.
import { type Id, parseJson, shardFor } from '@noetl/core';
import pg from 'pg';

export interface Pools {
  forExecution(id: Id): Shard;
  readonly cluster: pg.Pool;
  readonly shards: readonly Shard[];
  close(): Promise<void>;
}

export interface Shard {
  readonly index: number;
  readonly name: string;
  readonly pool: pg.Pool;
  /** For appends alone: they never wait for a connection that a reader holds. */
  readonly writer: pg.Pool;
}

export interface PoolsConfig {
  /** One connection string per shard, at least one. */
  readonly shards: readonly string[];
  /** Catalog, credentials and the like; the first shard when absent. */
  readonly cluster?: string;
  readonly maxConnections: number;
  readonly acquireTimeoutMs: number;
  onIdleError(error: Error): void;
}

/** As many as batches of one shard can be under way (log/appender.ts). */
const WRITERS = 2;

const JSON_OID = 114;
const JSONB_OID = 3802;
const FLOAT8_OID = 701;
const TIMESTAMPTZ_OID = 1184;

/** jsonb without loss, instants as ISO text in UTC with all their digits, ids as strings (the default of `pg` for int8). */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === JSON_OID || oid === JSONB_OID) return parseJson;
    if (oid === FLOAT8_OID) return Number;
    if (oid === TIMESTAMPTZ_OID) return isoFromPostgres;
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};

/** `2026-11-16 00:30:41.123456+00` to `2026-11-16T00:30:41.123456Z`, with three decimals at least. Sessions run in UTC. */
export function isoFromPostgres(text: string): string {
  const time = text.replace(' ', 'T').replace(/[+-]00(:00)?$/, '');
  const decimals = time.length - SECONDS_LENGTH - 1;
  if (decimals >= 3 || time.length < SECONDS_LENGTH) return `${time}Z`;
  return `${decimals < 0 ? `${time}.` : time}${'0'.repeat(3 - Math.max(0, decimals))}Z`;
}

const SECONDS_LENGTH = '2026-11-16T00:30:41'.length;

export function openPools(config: PoolsConfig): Pools {
  let closing: Promise<void> | undefined;
  const open = (connectionString: string, max: number, settings = ''): pg.Pool => {
    const pool = new pg.Pool({
      connectionString,
      max,
      connectionTimeoutMillis: config.acquireTimeoutMs,
      idleTimeoutMillis: 60_000,
      application_name: 'noetl-server',
      // Our statements take whole batches as one parameter: a generic plan is right for every batch size, and planning each
      // time would cost more than running.
      options: `-c timezone=UTC -c plan_cache_mode=force_generic_plan ${settings}`,
      types,
    });
    // A pool that is being closed may still hear of connections the database ends at the same moment.
    pool.on('error', (error) => closing === undefined && config.onIdleError(error));
    return pool;
  };
  const shards = config.shards.map((url, index) => ({
    index,
    name: `shard-${index}`,
    pool: open(url, config.maxConnections),
    // The plan of the append statement is made once, often while the tables are still empty: it must not settle on scanning them.
    writer: open(url, WRITERS, '-c enable_seqscan=off'),
  }));
  const [first] = shards;
  if (first === undefined) throw new Error('no database configured');
  const cluster = config.cluster === undefined ? first.pool : open(config.cluster, config.maxConnections);
  return {
    cluster,
    shards,
    forExecution: (id) => shards[shardFor(id, shards.length)] ?? first,
    close() {
      const pools = new Set([...shards.flatMap((shard) => [shard.pool, shard.writer]), cluster]);
      closing ??= Promise.all([...pools].map((pool) => pool.end())).then(() => undefined);
      return closing;
    },
  };
}

/**
 * `NOETL_SHARDS` entries: `host=…;port=…;user=…;password=…;database=…`. A typo must stop the start: falling back to one pool
 * would write executions where nobody looks for them.
 */
export function shardUrl(dsn: string, variable: string): string {
  const fields = new Map<string, string>();
  for (const part of dsn.split(';')) {
    const at = part.indexOf('=');
    const key = part.slice(0, at).trim();
    if (at < 0 || !['host', 'port', 'user', 'password', 'database', 'dbname'].includes(key)) {
      // A password with a ';' or ',' in it comes apart, and its rest ends up here: it must not be in a message.
      const mayBeSecret = at < 0 || fields.has('password');
      const what = mayBeSecret ? 'what it says after the last known field' : `'${key}'`;
      throw new Error(
        `${variable}: ${what} is not one of host=, port=, user=, password=, database= (a password here cannot hold ';' or ',')`,
      );
    }
    fields.set(key === 'dbname' ? 'database' : key, part.slice(at + 1).trim());
  }
  const host = fields.get('host');
  const user = fields.get('user');
  if (!host || !user) throw new Error(`${variable}: every shard needs host and user`);
  const url = new URL('postgres://localhost');
  url.hostname = host;
  url.port = fields.get('port') ?? '5432';
  url.username = encodeURIComponent(user);
  url.password = encodeURIComponent(fields.get('password') ?? '');
  url.pathname = `/${encodeURIComponent(fields.get('database') ?? 'noetl')}`;
  return url.toString();
}
