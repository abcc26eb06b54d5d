import { readFileSync } from 'node:fs';

/** The version of this package: one number for the server, its API and its metrics. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
