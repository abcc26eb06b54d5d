import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { machineIdFromName, parseId, shardFor, shardForInt64 } from './index.js';

describe('machineIdFromName', () => {
  it.each([
    ['noetl-server-pod-0', 984],
    ['pod-0', 601],
    ['pod-1', 166],
    ['noetl-server-local', 465],
    ['', 805],
  ])('%s is machine %i', (name, expected) => {
    expect(machineIdFromName(name)).toBe(expected);
  });

  it('hashes the UTF-8 bytes of any name', () => {
    const reference = (name: string) => {
      let hash = 0xcbf29ce484222325n;
      for (const byte of new TextEncoder().encode(name)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) % 2n ** 64n;
      return Number(hash % 1024n);
    };
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(machineIdFromName(name)).toBe(reference(name));
      }),
    );
    expect(machineIdFromName('\ud800')).toBe(reference('\ud800'));
  });
});

describe('shardFor', () => {
  it.each([
    [1n, 2, 1],
    [1n, 4, 1],
    [1n, 16, 5],
    [1n, 64, 21],
    [1n, 1024, 405],
    [42n, 4, 3],
    [325n, 4, 0],
    [325n, 8, 4],
    [2n ** 63n - 1n, 4, 0],
    [320816801799737344n, 16, 14],
    [-1n, 16, 9],
    [0n, 4, 3],
  ])('puts %i of %i shards on shard %i', (value, shards, expected) => {
    expect(shardForInt64(value, shards)).toBe(expected);
    const id = parseId(value);
    if (id !== undefined) expect(shardFor(id, shards)).toBe(expected);
  });

  it.each([1, 0, -3])('has only shard 0 when the count is %i', (shards) => {
    expect(shardForInt64(42n, shards)).toBe(0);
  });

  it('refuses a count that is not an integer', () => {
    expect(() => shardForInt64(1n, 2.5)).toThrow(RangeError);
  });
});
