import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverUrl } from './connection.js';
import { acquireDataDir } from './datadir/lock.js';

describe('the server a command talks to', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'noetl-connection-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('is --server, then NOETL_SERVER_URL, then the holder of the data dir, then the default', () => {
    const attempt = acquireDataDir(dataDir);
    if (attempt.state !== 'acquired') throw new Error('not acquired');
    attempt.lock.publish('http://127.0.0.1:1111');
    const env = { NOETL_SERVER_URL: 'http://env:2222/' };
    expect(serverUrl({ server: 'https://flag', dataDir }, env)).toBe('https://flag');
    expect(serverUrl({ dataDir }, env)).toBe('http://env:2222');
    expect(serverUrl({ dataDir }, {})).toBe('http://127.0.0.1:1111');
    attempt.lock.release();
    expect(serverUrl({ dataDir }, {})).toBe('http://127.0.0.1:8082');
  });

  it('is refused when it is not an address', () => {
    expect(() => serverUrl({ server: 'localhost:8082', dataDir }, {})).toThrow(
      expect.objectContaining({ exitCode: 2 }),
    );
  });
});
