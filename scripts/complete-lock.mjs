// Adds the optional platform packages that `npm install` left out of package-lock.json because the registry it asked does not carry
// them. `npm ci` refuses a lock without them, on every machine. Run it after an install that changed the lock: node scripts/complete-lock.mjs
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('../package-lock.json', import.meta.url);
const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const LIBC = { musl: ['musl'], gnu: ['glibc'] };

const lock = JSON.parse(readFileSync(FILE, 'utf8'));
const { packages } = lock;
let added = 0;
for (const [owner, entry] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (!/^\d+\.\d+\.\d+/.test(version) || packages[path] || packages[`${owner}/${path}`]) continue;
    // Such packages are named <prefix>-<system>-<cpu>[-<libc>]; npm installs them only where both match.
    const [system, cpu, libc] = name.replace(/^.*\/(cli|binding)-/, '').split('-');
    packages[path] = {
      version,
      cpu: [system === 'wasm32' ? 'wasm32' : cpu],
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      ...(SYSTEMS.includes(system) ? { os: [system] } : {}),
      ...(system === 'linux' && LIBC[libc] ? { libc: LIBC[libc] } : {}),
    };
    added++;
  }
}
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} optional packages added`);
