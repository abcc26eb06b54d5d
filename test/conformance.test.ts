// Real playbooks that none of us wrote must end as their collection says (../shared/corpus, when it is there; `npm run conformance`
// prints the table). What does not run yet is listed with its reason, and the list must stay true in both directions.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CORPUS = join(ROOT, '..', 'shared', 'corpus', 'run.mjs');

const NOT_YET: Readonly<Record<string, string>> = {};

interface Verdict {
  readonly file: string;
  readonly ok: boolean;
  readonly why?: string;
}

it('the playbooks of group A end as they must', { timeout: 180_000 }, async () => {
  if (!existsSync(CORPUS)) return console.log('the corpus is not there: nothing to check');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['scripts/conformance.mjs', '--group', 'A', '--json'],
    {
      cwd: ROOT,
      maxBuffer: 64 * 1024 * 1024,
    },
  ).catch((error: { stdout: string }) => error);
  const { results } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { results: Verdict[] };
  const failed = results.filter((verdict) => !verdict.ok);
  expect(failed.map(({ file, why }) => (file in NOT_YET ? file : `${file}: ${why}`)).sort()).toEqual(
    Object.keys(NOT_YET).sort(),
  );
});
