// One PostgreSQL for the whole test run, in a folder of its own, gone when the run ends. Durable settings stay on: what the
// tests prove must hold with them. Files get databases of their own from `freshDatabase` (./postgres.ts).
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../packages/cli/src/index.js';
import { installMissingPackages } from './debian.js';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  installMissingPackages();
  const dataDir = mkdtempSync(join(tmpdir(), 'noetl-test-'));
  chmodSync(dataDir, 0o755);
  const server = await startEmbeddedPostgres({ dataDir, log: () => {} });
  project.provide('postgresUrl', server.url);
  return async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
