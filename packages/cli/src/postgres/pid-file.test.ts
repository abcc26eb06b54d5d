import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { disownPidFile, inspectCluster, parsePidFile } from './pid-file.js';

const text = (pid: number) => `${pid}\n/data\n1700000000\n54321\n\n127.0.0.1\n  1234567  42\nready   \n`;

describe('postmaster.pid', () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'noetl-pid-'));
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));
  const write = (content: string) => writeFileSync(join(data, 'postmaster.pid'), content);

  it('tells pid and port', () => {
    expect(parsePidFile(text(77))).toEqual({ pid: 77, port: 54321 });
  });

  it('is nothing when empty', () => {
    expect(parsePidFile('')).toBeUndefined();
  });

  it('means free when absent', () => {
    expect(inspectCluster(data)).toEqual({ state: 'free' });
  });

  it('is stale when its process is not PostgreSQL', () => {
    write(text(process.pid));
    expect(inspectCluster(data)).toEqual({ state: 'stale' });
  });

  it('keeps the shared memory key when it is disowned', () => {
    write(text(process.pid));
    disownPidFile(data);
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    expect(lines[0]).not.toBe(String(process.pid));
    expect(lines[6]).toBe('  1234567  42');
  });

  it('is removed when it holds nothing to keep', () => {
    write('');
    disownPidFile(data);
    expect(inspectCluster(data)).toEqual({ state: 'free' });
  });
});
