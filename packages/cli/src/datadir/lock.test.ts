import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireDataDir, type DataDirLock, dataDirHolder, describeHolder } from './lock.js';
import { identifyProcess, parseProcStat } from './process.js';

describe('the lock of a data directory', () => {
  let dataDir: string;
  const held: DataDirLock[] = [];
  const file = () => join(dataDir, 'noetl.lock');

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'noetl-lock-'));
  });
  afterEach(() => {
    for (const lock of held.splice(0)) lock.release();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const acquire = () => {
    const attempt = acquireDataDir(dataDir);
    if (attempt.state === 'acquired') held.push(attempt.lock);
    return attempt;
  };
  const write = (fields: object) =>
    writeFileSync(
      file(),
      JSON.stringify({ started_at: '2026-01-01T00:00:00Z', host: hostname(), token: 't', ...fields }),
    );

  it('is free at first and names its holder afterwards', () => {
    expect(dataDirHolder(dataDir)).toBeUndefined();
    expect(acquire().state).toBe('acquired');
    expect(dataDirHolder(dataDir)).toMatchObject({ pid: process.pid, host: hostname(), url: null });
  });

  it('refuses a second holder and says who holds it', () => {
    const first = acquire();
    if (first.state === 'acquired') first.lock.publish('http://127.0.0.1:8082');
    const second = acquire();
    expect(second).toMatchObject({ state: 'held', holder: { pid: process.pid, url: 'http://127.0.0.1:8082' } });
    if (second.state === 'held') {
      expect(describeHolder(second.holder)).toMatch(/^pid \d+, since .+, http:\/\/127\.0\.0\.1:8082$/);
    }
  });

  it('is free again after release, and leaves no file behind', () => {
    const first = acquire();
    if (first.state === 'acquired') first.lock.release();
    expect(readdirSync(dataDir)).toEqual([]);
    expect(acquire().state).toBe('acquired');
  });

  it('is taken over from a process that is gone', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((settle) => child.once('exit', settle));
    write({ pid: child.pid, process_start: '1' });
    expect(acquire().state).toBe('acquired');
    expect(readdirSync(dataDir)).toEqual(['noetl.lock']);
  });

  it('is taken over when its pid belongs to another process by now', () => {
    write({ pid: process.pid, process_start: 'another start' });
    expect(acquire().state).toBe('acquired');
  });

  it('is taken over when the file is damaged', () => {
    writeFileSync(file(), '{"pid": 12');
    expect(acquire().state).toBe('acquired');
  });

  it('of another machine is respected while it is refreshed, and taken over after a silence', () => {
    write({ pid: 1, host: 'elsewhere', process_start: '1' });
    expect(acquire()).toMatchObject({ state: 'held', holder: { host: 'elsewhere' } });
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(file(), longAgo, longAgo);
    expect(acquire().state).toBe('acquired');
  });

  it('cannot be published once somebody else has it, and is not removed by its former holder', () => {
    const first = acquire();
    write({ pid: process.pid, process_start: identifyProcess(process.pid)?.startTime, token: 'theirs' });
    if (first.state !== 'acquired') throw new Error('not acquired');
    expect(() => first.lock.publish('http://x')).toThrow(/Lost the lock/);
    first.lock.release();
    expect(existsSync(file())).toBe(true);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ token: 'theirs' });
  });
});

describe('the identity of a process', () => {
  const stat = (state: string) =>
    `42 (a (strange) name) ${state} 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 0 0`;

  it('is read from /proc even when the command contains parentheses', () => {
    expect(parseProcStat(42, stat('S'))).toEqual({ pid: 42, startTime: '987654', command: 'a (strange) name' });
  });

  it('does not exist for a zombie', () => {
    expect(parseProcStat(42, stat('Z'))).toBeUndefined();
  });

  it('is stable for a live process and absent for a nonsense pid', () => {
    expect(identifyProcess(process.pid)).toEqual(identifyProcess(process.pid));
    expect(identifyProcess(0)).toBeUndefined();
  });
});
