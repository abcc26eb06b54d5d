import { describe, expect, it } from 'vitest';
import { paletteFor } from '../terminal.js';
import { type Overview, screen } from './ops.js';
import { formatBytes, shardTable } from './shards.js';

const plain = paletteFor({ isTTY: false });

const overview: Overview = {
  health: { status: 'ok', version: '1.2.3', database: 'connected', nats: 'not_configured', uptime_seconds: 90 },
  workers: [
    { name: 'a', status: 'ready', capacity: 8, in_flight: 3, heartbeat: '', labels: null },
    { name: 'b', status: 'ready', capacity: 8, in_flight: null, heartbeat: '', labels: null },
    { name: 'c', status: 'offline', capacity: 8, in_flight: 8, heartbeat: '', labels: null },
  ],
  shards: {
    shards: [
      {
        shard: 'shard-0',
        index: 0,
        reachable: true,
        error: null,
        executions: { RUNNING: 2, COMPLETED: 5 },
        events_estimate: 210,
        commands_open: 4,
        commands_ready: 1,
        outbox_backlog: 3,
        messages_waiting: 0,
        database_bytes: 12_582_912,
        stream_lag_seconds: null,
      },
      { shard: 'shard-1', index: 1, reachable: false, error: 'connect ECONNREFUSED' },
    ],
  },
  outbox: { pending: 2, failed: 1, in_flight: 0, dead: 4, oldest_seconds: 65 },
  streams: {
    enabled: false,
    command_transport: 'http',
    nats: { configured: false, connected: false, last_error: null },
    streams: [],
    shards: [],
  },
};

describe('the screen', () => {
  it('shows every part', () => {
    const text = screen(overview, plain);
    expect(text).toContain('ok  version 1.2.3');
    expect(text).toContain('2 alive, 3 of 16 slots busy, 1 offline');
    expect(text).toContain('1 ready, 4 open');
    expect(text).toContain('2 pending, 0 in flight, 1 to be tried again');
    expect(text).toContain('4 dead');
    expect(text).toContain('NATS is not configured');
    expect(text).toContain('shard-1');
  });

  it('shows the rest when a part cannot be had', () => {
    const text = screen({ ...overview, outbox: { error: 'The database is not reachable' } }, plain);
    expect(text).toMatch(/Outbox +The database is not reachable/);
    expect(text).toContain('2 alive');
  });

  it('says that nobody works', () => {
    expect(screen({ ...overview, workers: [] }, plain)).toContain('none: nobody runs what is in the queue');
  });
});

it('the table of shards says what is there, and which shard is away', () => {
  const shards = 'shards' in overview.shards ? overview.shards.shards : [];
  const [head = '', first = '', second = ''] = shardTable(shards, plain).split('\n');
  expect(head.split(/ {2,}/)).toEqual([
    'SHARD',
    'SIZE',
    'EVENTS',
    'COMMANDS',
    'READY',
    'OUTBOX',
    'MESSAGES',
    'LAG',
    'EXECUTIONS',
  ]);
  expect(first.split(/ {2,}/)).toEqual([
    'shard-0',
    '12.0 MiB',
    '~210',
    '4',
    '1',
    '3',
    '0',
    '-',
    '5 COMPLETED, 2 RUNNING',
  ]);
  expect(second).toMatch(/^shard-1 +away +connect ECONNREFUSED$/);
});

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1_572_864, '1.5 MiB'],
  [500 * 1024 ** 3, '500 GiB'],
  [5000 * 1024 ** 4, '5000 TiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
