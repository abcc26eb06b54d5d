// What some tests need from Debian's packages. Root installs what is missing, all of it at once and before any test runs: two tests that
// call apt at the same time would be in each other's way. For everybody else the test that needs it says what to install.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const PLACES = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];
const findProgram = (name: string) => PLACES.map((folder) => join(folder, name)).find((file) => existsSync(file));
const hasProgram = (name: string) => findProgram(name) !== undefined;

const PACKAGES: Readonly<Record<string, () => boolean>> = {
  'nats-server': () => hasProgram('nats-server'),
  chromium: () => hasProgram('chromium'),
  openssl: () => hasProgram('openssl'),
  python3: () => hasProgram('python3'),
  // Debian's own Python: another one on the PATH does not see Debian's packages.
  'python3-jinja2': () => spawnSync('/usr/bin/python3', ['-c', 'import jinja2']).status === 0,
};

/** Where a program is that a test cannot do without: it is never skipped for the lack of it. */
export function requireProgram(name: string): string {
  const found = findProgram(name);
  if (found === undefined) throw new Error(`${name} is missing: install it with \`apt-get install ${name}\``);
  return found;
}

export function installMissingPackages(): void {
  const missing = Object.keys(PACKAGES).filter((name) => PACKAGES[name]?.() === false);
  if (missing.length === 0 || process.getuid?.() !== 0) return;
  console.info(`installing from Debian's packages: ${missing.join(', ')}`);
  const apt = (...args: string[]) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', args, { env, stdio: 'ignore', timeout: 600_000 });
  };
  apt('update');
  apt('install', '--yes', '--no-install-recommends', ...missing);
}
