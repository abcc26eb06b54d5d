import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canReach, chooseLauncher, parsePasswd } from './run-as.js';

describe('accounts', () => {
  it('come from passwd lines; anything else is ignored', () => {
    expect(parsePasswd('root:x:0:0:root:/root:/bin/sh\n\n# note\npostgres:x:101:104::/:/bin/sh\n+::::::\n')).toEqual([
      { name: 'root', uid: 0, gid: 0 },
      { name: 'postgres', uid: 101, gid: 104 },
      { name: '+', uid: 0, gid: 0 },
    ]);
  });
});

describe('reaching a path', () => {
  const stranger = { uid: 60_001, gid: 60_001 };
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'noetl-reach-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'inner', 'file'), '');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('works through folders that others may enter', () => {
    chmodSync(join(folder, 'inner'), 0o755);
    chmodSync(join(folder, 'inner', 'file'), 0o644);
    expect(canReach(join(folder, 'inner', 'file'), stranger)).toBe(true);
  });

  it('stops at a private folder on the way', () => {
    chmodSync(join(folder, 'inner'), 0o700);
    expect(canReach(join(folder, 'inner', 'file'), stranger)).toBe(false);
  });

  it('stops at a private file', () => {
    chmodSync(join(folder, 'inner', 'file'), 0o600);
    expect(canReach(join(folder, 'inner', 'file'), stranger)).toBe(false);
  });

  it('launches as ourselves, but never as root', () => {
    const ourselves = process.getuid?.();
    const { file, args, options } = chooseLauncher(join(folder, 'inner'), []).command('/bin/true', ['x']);
    const user = file === 'setpriv' ? Number(args[args.indexOf('--reuid') + 1]) : (options.uid ?? ourselves);
    if (ourselves === 0) expect(user).not.toBe(0);
    else expect({ file, args, user }).toEqual({ file: '/bin/true', args: ['x'], user: ourselves });
  });
});
