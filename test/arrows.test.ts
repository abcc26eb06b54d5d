import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../scripts/check-arrows.mjs', import.meta.url));

describe('the import arrows', () => {
  it('are told right from wrong by the checker', async () => {
    const { stdout } = await run(process.execPath, [script, '--self-test']);
    expect(stdout).toMatch(/^check-arrows: (\d+) of \1 fixtures as expected/);
  });

  it('hold in this repository', async () => {
    await expect(run(process.execPath, [script])).resolves.toMatchObject({ stderr: '' });
  });
});
