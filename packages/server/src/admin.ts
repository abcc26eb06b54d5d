// Work on the databases themselves, for the command line: opens them, does it, closes them.
import type { ServerConfig } from './config.js';
import { openPools } from './db/index.js';
import { type RebuildOptions, type RebuildReport, rebuild } from './projection/index.js';
import { prepareDatabases } from './shards/index.js';

/** Compares the read model with the log, and repairs it unless told only to look. */
export async function rebuildReadModel(config: ServerConfig, options: RebuildOptions): Promise<RebuildReport> {
  const pools = openPools({ ...config, onIdleError: () => undefined });
  try {
    await prepareDatabases(pools, config);
    return await rebuild(pools, options);
  } finally {
    await pools.close();
  }
}
