import { describe, expect, it } from 'vitest';
import { eventStreamSettings, messagingSettings, natsAddress } from './settings.js';

const read = (env: Record<string, string>) => {
  const warnings: string[] = [];
  return { settings: eventStreamSettings(env, (warning) => warnings.push(warning)), warnings };
};

describe('settings of the event stream', () => {
  it('without any: off, and safe defaults', () => {
    expect(read({})).toEqual({
      settings: { enabled: false, batch: 500, pollMs: 500, backfill: false, dedupMs: 120_000, retentionMs: 86_400_000 },
      warnings: [],
    });
  });

  it('are taken as given', () => {
    const env = {
      NOETL_EVENT_STREAM_ENABLED: 'yes',
      NOETL_EVENT_STREAM_BATCH: '1000',
      NOETL_EVENT_STREAM_POLL_MS: ' 250 ',
      NOETL_EVENT_STREAM_BACKFILL: 'true',
      NOETL_EVENT_STREAM_DEDUP_SECS: '60',
      NOETL_EVENT_STREAM_RETENTION_SECS: '3600',
    };
    expect(read(env)).toEqual({
      settings: { enabled: true, batch: 1000, pollMs: 250, backfill: true, dedupMs: 60_000, retentionMs: 3_600_000 },
      warnings: [],
    });
  });

  it.each(['true', 'TRUE', ' 1 ', 'Yes', 'on'])('%j switches it on', (value) => {
    expect(read({ NOETL_EVENT_STREAM_ENABLED: value }).settings.enabled).toBe(true);
  });

  it.each(['', '0', 'false', 'off', 'enabled', 'y'])('%j leaves it off', (value) => {
    expect(read({ NOETL_EVENT_STREAM_ENABLED: value }).settings.enabled).toBe(false);
  });

  it.each(['', 'many', '-1', '1.5', '1e3', '0x10', '1_000'])(
    'a number given as %j means the default, and says so',
    (value) => {
      const { settings, warnings } = read({ NOETL_EVENT_STREAM_BATCH: value });
      expect(settings.batch).toBe(500);
      expect(warnings).toEqual([`NOETL_EVENT_STREAM_BATCH=${value} is not a whole number: 500 is used`]);
    },
  );

  it.each([
    ['NOETL_EVENT_STREAM_BATCH', '0', { batch: 1 }],
    ['NOETL_EVENT_STREAM_BATCH', '99999999999999999999', { batch: 10_000 }],
    ['NOETL_EVENT_STREAM_POLL_MS', '0', { pollMs: 1 }],
    ['NOETL_EVENT_STREAM_DEDUP_SECS', '0', { dedupMs: 1_000 }],
  ])('%s=%s becomes what can work, and says so', (name, value, expected) => {
    const { settings, warnings } = read({ [name]: value });
    expect(settings).toMatchObject(expected);
    expect(warnings).toHaveLength(1);
  });

  it('a dedup window never outlives the retention: JetStream would refuse the stream', () => {
    const { settings, warnings } = read({ NOETL_EVENT_STREAM_RETENTION_SECS: '60' });
    expect(settings).toMatchObject({ dedupMs: 60_000, retentionMs: 60_000 });
    expect(warnings).toHaveLength(1);
  });
});

describe('the address of NATS', () => {
  it('gives up its credentials, so that it can be logged', () => {
    expect(natsAddress('nats://ada:p%40ss@bus.internal:4222')).toEqual({
      servers: ['nats://bus.internal:4222'],
      user: 'ada',
      pass: 'p@ss',
    });
  });

  it('may hold a token instead', () => {
    expect(natsAddress('nats://s3cret@bus:4222')).toEqual({ servers: ['nats://bus:4222'], token: 's3cret' });
  });

  it('may be several, with or without a scheme', () => {
    expect(natsAddress('a:4222, tls://b:4333').servers).toEqual(['nats://a:4222', 'tls://b:4333']);
  });

  it('that cannot be read is refused without repeating it', () => {
    expect(() => natsAddress('nats://ada:secret@:x')).toThrow(/^NOETL_NATS_URL: is not an address/);
  });

  it('is NOETL_NATS_URL, else NATS_URL', () => {
    const servers = (env: Record<string, string>) => messagingSettings(env).nats?.servers;
    expect(servers({ NOETL_NATS_URL: 'a:1', NATS_URL: 'b:2' })).toEqual(['nats://a:1']);
    expect(servers({ NATS_URL: 'b:2' })).toEqual(['nats://b:2']);
    expect(servers({})).toBeUndefined();
  });
});

describe('messaging', () => {
  it('warns when events should leave and there is no way out', () => {
    expect(messagingSettings({ NOETL_EVENT_STREAM_ENABLED: '1' }).warnings).toEqual([
      'NOETL_EVENT_STREAM_ENABLED is on, but NOETL_NATS_URL is not set: no event leaves',
    ]);
  });

  it('refuses commands over a NATS that is not named', () => {
    expect(() => messagingSettings({ NOETL_COMMAND_TRANSPORT: 'nats' })).toThrow('needs NOETL_NATS_URL');
  });

  it('refuses a transport that does not exist', () => {
    expect(() => messagingSettings({ NOETL_COMMAND_TRANSPORT: 'pigeon' })).toThrow('must be http or nats');
  });
});
