// Runs the shared corpus (../shared/corpus, real playbooks that none of us wrote) against a fresh stack and prints its table:
//   npm run conformance [-- --group A --only TEXT]
// Prints what it does not have instead of passing silently.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { foldExportedLog, readExportedLog, replayBody } from '../packages/core/dist/index.js';
import { checkReplayCorpus, replayTable } from '../test/replay/corpus.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CORPUS = join(ROOT, '..', 'shared', 'corpus');
const CLI = join(ROOT, 'packages', 'cli', 'dist', 'main.js');

if (!existsSync(join(CORPUS, 'run.mjs'))) {
  console.log(`The corpus is not there (${CORPUS}); nothing was checked.`);
  process.exit(0);
}
const replayed = await checkReplayCorpus((logs) =>
  logs.map((log) => replayBody(foldExportedLog(readExportedLog(log)))),
);
console.log(`${replayTable(replayed)}\n`);
const replayDiffers = replayed?.some(({ total, identical }) => identical < total) === true;

const dataDir = mkdtempSync(join(tmpdir(), 'noetl-conformance-'));
// The worker runs in the corpus: two playbooks read scripts from ./fixtures.
const stack = spawn(process.execPath, [CLI, 'up', '--port', '0', '--data-dir', dataDir], {
  cwd: CORPUS,
  stdio: ['ignore', 'pipe', 'pipe'],
});
const ended = once(stack, 'exit');
let exitCode = 1;
try {
  const server = await new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk) => {
      output += chunk;
      const url = /API\s+(http:\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    };
    stack.stdout.on('data', read);
    stack.stderr.on('data', read);
    void ended.then(() => reject(new Error(`noetl up ended early:\n${output}`)));
  });
  const given = process.argv.slice(2);
  const args = given.includes('--group') ? given : ['--group', 'A', ...given];
  const run = spawn(process.execPath, [join(CORPUS, 'run.mjs'), '--server', server, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  [exitCode] = await once(run, 'exit');
} finally {
  stack.kill('SIGTERM');
  await ended;
  rmSync(dataDir, { recursive: true, force: true });
}
process.exit(exitCode === 0 && replayDiffers ? 1 : exitCode);
