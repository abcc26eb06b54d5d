// Keeps the arrows of the architecture: core <- client <- (server, worker) <- cli, and within the server one capability reaches
// another only through its index. Prints file:line and the rule for every import that points the wrong way; exit code 1.
// `--self-test` checks the checker on inline fixtures instead.
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What each package may import of ours; `external` limits what else it may import. */
const PACKAGES = {
  core: { ours: [], external: ['yaml'], builtins: false },
  client: { ours: ['core'], external: [], builtins: false },
  server: { ours: ['core', 'client'] },
  worker: { ours: ['core', 'client'] },
  cli: { ours: ['core', 'client', 'server', 'worker'] },
};

const BUILTINS = new Set(builtinModules);

/** Static, dynamic and re-exporting imports, with the line they are on. Comments are blanked first, line numbers kept. */
export function importsOf(source) {
  const code = source.replace(
    /\/\*[\s\S]*?\*\/|(^|[^:'"`\\])\/\/[^\n]*/g,
    (text, before = '') => before + text.slice(before.length).replace(/[^\n]/g, ' '),
  );
  const pattern =
    /(?:^|[\s;}])(?:import|export)\b(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1|\bimport\s*\(\s*(['"`])([^'"`\n]+)\3|\brequire\s*\(\s*(['"])([^'"\n]+)\5/g;
  return [...code.matchAll(pattern)].map((match) => {
    const specifier = match[2] ?? match[4] ?? match[6];
    const offset = match.index + match[0].lastIndexOf(specifier);
    return { specifier, line: code.slice(0, offset).split('\n').length };
  });
}

/** @param file path below the repository root, with `/`; tests may import what they like from outside their package. */
export function violationsIn(file, source) {
  const match = /^packages\/([^/]+)\/src\/(.+)$/.exec(file);
  const rules = match === null ? undefined : PACKAGES[match[1]];
  if (rules === undefined) return [];
  const [, name] = match;
  const isTest = /\.test\.ts$/.test(file);
  return importsOf(source).flatMap(({ specifier, line }) => {
    const rule = ruleBroken(name, rules, file, specifier, isTest);
    return rule === undefined ? [] : [{ file, line, specifier, rule }];
  });
}

function ruleBroken(name, rules, file, specifier, isTest) {
  if (specifier.startsWith('.')) return relativeRuleBroken(name, file, specifier);
  const ours = /^@noetl\/([^/]+)(\/.*)?$/.exec(specifier);
  if (ours !== null) {
    if (ours[2] !== undefined) return `import @noetl/${ours[1]} itself, not a file inside it`;
    if (ours[1] === name) return `a package does not import itself by name`;
    if (rules.ours.includes(ours[1])) return undefined;
    const allowed = rules.ours.length === 0 ? 'no other package of ours' : rules.ours.join(', ');
    return `${name} may import ${allowed}, not ${ours[1]}`;
  }
  if (isTest) return undefined;
  const bare = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0];
  const isBuiltin = specifier.startsWith('node:') || BUILTINS.has(bare);
  if (isBuiltin) return rules.builtins === false ? `${name} runs in browsers too: no Node builtins` : undefined;
  if (rules.external !== undefined && !rules.external.includes(bare)) {
    return `${name} may import ${rules.external.length === 0 ? 'no library' : `only ${rules.external.join(', ')}`}`;
  }
  return undefined;
}

function relativeRuleBroken(name, file, specifier) {
  const base = `packages/${name}/src`;
  const target = posix.join(posix.dirname(file), specifier);
  if (!target.startsWith(`${base}/`) && !target.startsWith(`packages/${name}/`)) {
    // Tests share helpers that live at the root of the repository.
    if (/\.test\.ts$/.test(file) && target.startsWith('test/')) return undefined;
    return 'a relative import stays inside its package';
  }
  if (name !== 'server') return undefined;
  const from = capabilityOf(file, base);
  const to = capabilityOf(target, base);
  if (to === undefined || from === to) return undefined;
  return target === `${base}/${to}/index.js` ? undefined : `reach ${to} through ${to}/index.js`;
}

/** The folder below src; undefined for a file that lies in src itself. */
function capabilityOf(path, base) {
  const parts = path.slice(base.length + 1).split('/');
  return parts.length > 1 ? parts[0] : undefined;
}

function checkTree(root) {
  const found = [];
  for (const name of Object.keys(PACKAGES)) {
    const folder = join(root, 'packages', name, 'src');
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.[cm]?tsx?$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      found.push(...violationsIn(relative(root, path).split(sep).join('/'), readFileSync(path, 'utf8')));
    }
  }
  return found;
}

const FIXTURES = [
  {
    file: 'packages/core/src/a.ts',
    source: "import { parse } from 'yaml';\nimport type { X } from './x.js';",
    lines: [],
  },
  { file: 'packages/core/src/a.ts', source: "\nimport { readFileSync } from 'node:fs';", lines: [2] },
  { file: 'packages/core/src/a.ts', source: "import fs from 'fs/promises';", lines: [1] },
  { file: 'packages/core/src/a.ts', source: "import type { Client } from '@noetl/client';", lines: [1] },
  { file: 'packages/core/src/a.ts', source: "import pg from 'pg';", lines: [1] },
  { file: 'packages/core/src/a.test.ts', source: "import { it } from 'vitest';\nimport 'node:fs';", lines: [] },
  {
    file: 'packages/core/src/a.ts',
    source: "// import pg from 'pg'\n/* import 'pg'; */\nconst s = 'http://x';",
    lines: [],
  },
  { file: 'packages/client/src/a.ts', source: "import type { Json } from '@noetl/core';", lines: [] },
  { file: 'packages/client/src/a.ts', source: "export { x } from '@noetl/server';", lines: [1] },
  {
    file: 'packages/worker/src/a.ts',
    source: "import { x } from '@noetl/client';\nimport pino from 'pino';",
    lines: [],
  },
  { file: 'packages/worker/src/a.ts', source: "const s = await import('@noetl/server');", lines: [1] },
  { file: 'packages/worker/src/a.ts', source: "import { x } from '../../server/src/x.js';", lines: [1] },
  { file: 'packages/server/src/a.ts', source: "import {\n  x,\n} from '@noetl/worker';", lines: [3] },
  { file: 'packages/server/src/log/a.ts', source: "import { x } from '@noetl/core/src/x.js';", lines: [1] },
  { file: 'packages/server/src/log/a.ts', source: "import { x } from '../drive/store.js';", lines: [1] },
  {
    file: 'packages/server/src/log/a.ts',
    source: "import { x } from '../drive/index.js';\nimport './store.js';\nimport '../errors.js';",
    lines: [],
  },
  { file: 'packages/server/src/log/deep/a.ts', source: "import { x } from '../store.js';", lines: [] },
  { file: 'packages/server/src/index.ts', source: "export { x } from './drive/start.js';", lines: [1] },
  {
    file: 'packages/server/src/log/a.test.ts',
    source: "import { freshDatabase } from '../../../../test/support/postgres.js';",
    lines: [],
  },
  {
    file: 'packages/cli/src/a.ts',
    source: "import { x } from '@noetl/server';\nimport { y } from '@noetl/worker';",
    lines: [],
  },
];

function selfTest() {
  return FIXTURES.flatMap(({ file, source, lines }) => {
    const got = violationsIn(file, source).map(({ line }) => line);
    return String(got) === String(lines)
      ? []
      : [`${file}: ${JSON.stringify(source)}\n  expected lines [${lines}], got [${got}]`];
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (process.argv.includes('--self-test')) {
    const failures = selfTest();
    for (const failure of failures) console.error(failure);
    console.log(`check-arrows: ${FIXTURES.length - failures.length} of ${FIXTURES.length} fixtures as expected`);
    process.exitCode = failures.length === 0 ? 0 : 1;
  } else {
    const violations = checkTree(join(dirname(fileURLToPath(import.meta.url)), '..'));
    for (const { file, line, specifier, rule } of violations) console.error(`${file}:${line}: '${specifier}': ${rule}`);
    process.exitCode = violations.length === 0 ? 0 : 1;
  }
}
