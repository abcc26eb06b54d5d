// The shim `noetl` at the root of the repository, on a clone of straw: node and npm are scripts that write down how they were called.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const shim = fileURLToPath(new URL('../../../noetl', import.meta.url));
const TOOLS = ['sh', 'cat', 'cmp', 'cp', 'dirname', 'find', 'head', 'mkdir', 'mv', 'readlink', 'rm', 'sleep', 'touch'];

describe('the shim', () => {
  let home: string;
  let root: string;
  let bin: string;

  const script = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const node = (version: string) =>
    script('node', `[ "$1" = --version ] && { echo ${version}; exit; }\necho "ran in $PWD: $*"`);
  const npm = (build: string) =>
    script(
      'npm',
      `echo "$1 $2" >> "${home}/npm.log"
case $1 in
  ci | install) mkdir -p "${root}/node_modules" ;;
  run) ${build} ;;
esac`,
    );
  const npmCalls = () =>
    existsSync(join(home, 'npm.log')) ? readFileSync(join(home, 'npm.log'), 'utf8').trim().split('\n') : [];
  const source = (name: string) => join(root, 'packages/core/src', name);

  function run(args: string[] = [], options: { from?: string; cwd?: string } = {}) {
    return new Promise<{ code: number | null; stdout: string; stderr: string }>((settle) => {
      const child = spawn(options.from ?? join(root, 'noetl'), args, { cwd: options.cwd ?? root, env: { PATH: bin } });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk) => (stdout += chunk));
      child.stderr.on('data', (chunk) => (stderr += chunk));
      child.once('close', (code) => settle({ code, stdout, stderr }));
    });
  }

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'noetl-shim-'));
    root = join(home, 'clone');
    bin = join(home, 'bin');
    for (const folder of ['packages/core/src', 'packages/cli/src']) mkdirSync(join(root, folder), { recursive: true });
    mkdirSync(bin);
    for (const tool of TOOLS) {
      const found = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, tool));
      symlinkSync(found.find((path) => existsSync(path)) ?? `/bin/${tool}`, join(bin, tool));
    }
    copyFileSync(shim, join(root, 'noetl'));
    chmodSync(join(root, 'noetl'), 0o755);
    writeFileSync(join(root, 'package-lock.json'), '{"v":1}');
    writeFileSync(join(root, 'tsconfig.base.json'), '{}');
    writeFileSync(source('a.ts'), '');
    node('v22.1.0');
    npm(`mkdir -p "${root}/packages/cli/dist" && touch "${root}/packages/cli/dist/main.js"`);
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('installs, builds and runs in a fresh clone; stdout belongs to the command', async () => {
    const { code, stdout } = await run(['run', 'x.yaml']);
    expect(npmCalls()).toEqual(['ci --no-audit', 'run --silent']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `ran in ${root}: ${root}/packages/cli/dist/main.js run x.yaml\n`,
    });
  });

  it('says and does nothing when nothing changed', async () => {
    await run();
    const before = npmCalls();
    expect(await run()).toMatchObject({ code: 0, stderr: '' });
    expect(npmCalls()).toEqual(before);
  });

  it('works from another directory and through symlinks, and stays in the directory of the caller', async () => {
    await run();
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(elsewhere);
    symlinkSync('../clone/noetl', join(elsewhere, 'one'));
    symlinkSync(join(elsewhere, 'one'), join(elsewhere, 'two'));
    const { stdout } = await run([], { from: join(elsewhere, 'two'), cwd: elsewhere });
    expect(stdout).toBe(`ran in ${elsewhere}: ${root}/packages/cli/dist/main.js\n`);
  });

  it('installs again when the lock file changed', async () => {
    await run();
    writeFileSync(join(root, 'package-lock.json'), '{"v":2}');
    await run();
    expect(npmCalls().filter((call) => call.startsWith('ci'))).toHaveLength(2);
  });

  it('builds again when a source changed, and when one was removed', async () => {
    await run();
    const later = new Date(Date.now() + 5_000);
    writeFileSync(source('b.ts'), '');
    utimesSync(source('b.ts'), later, later);
    await run();
    expect(npmCalls().filter((call) => call.startsWith('run'))).toHaveLength(2);
    rmSync(source('b.ts'));
    utimesSync(source('.'), later, later);
    await run();
    expect(npmCalls().filter((call) => call.startsWith('run'))).toHaveLength(3);
  });

  it('tries a failed build again at the next start', async () => {
    npm('exit 1');
    const failed = await run();
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain('The build failed');
    expect((await run()).code).toBe(1);
    expect(npmCalls().filter((call) => call.startsWith('run'))).toHaveLength(2);
  });

  it('installs and builds once when two start at the same time', async () => {
    const [one, two] = await Promise.all([run(), run()]);
    expect([one.code, two.code]).toEqual([0, 0]);
    expect(npmCalls()).toEqual(['ci --no-audit', 'run --silent']);
  });

  it('takes over the lock of a shim that died', async () => {
    const dead = spawn('true');
    await new Promise((settle) => dead.once('exit', settle));
    mkdirSync(join(root, '.noetl/setup.lock'), { recursive: true });
    writeFileSync(join(root, '.noetl/setup.lock/pid'), `${dead.pid}\n`);
    expect((await run()).code).toBe(0);
    expect(existsSync(join(root, '.noetl/setup.lock'))).toBe(false);
  });

  it('falls back to npm install when the lock lacks the binaries of other platforms', async () => {
    script(
      'npm',
      `echo "$1 $2" >> "${home}/npm.log"
case $1 in
  ci) echo 'npm error code EUSAGE'; exit 1 ;;
  install) mkdir -p "${root}/node_modules" ;;
  run) mkdir -p "${root}/packages/cli/dist" && touch "${root}/packages/cli/dist/main.js" ;;
esac`,
    );
    expect((await run()).code).toBe(0);
    expect(npmCalls()).toEqual(['ci --no-audit', 'install --no-audit', 'run --silent']);
  });

  it.each([
    ['v20.18.3', 1],
    ['v18.20.0', 1],
    ['v20.19.0', 0],
    ['v22.0.0', 0],
  ])('with Node %s ends with code %d', async (version, code) => {
    node(version);
    const result = await run();
    expect(result.code).toBe(code);
    if (code === 1) expect(result.stderr).toMatch(/^noetl: Node\.js [\d.]+ is too old\. Install version 20\.19 .*\n$/);
  });

  it('without Node says in one line what to install', async () => {
    rmSync(join(bin, 'node'));
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^noetl: Node\.js is not installed\. .*\n$/);
  });
});
