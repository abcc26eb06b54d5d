import { defineConfig } from 'vitest/config';

// Unit tests live beside their sources; tests that cross packages or need Postgres live in test/.
export default defineConfig({
  resolve: { conditions: ['noetl-source'] },
  ssr: { resolve: { conditions: ['noetl-source'] } },
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ['test/support/global-setup.ts'],
    // The machine that runs them all has two cores.
    maxWorkers: 2,
    pool: 'forks',
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
  },
});
