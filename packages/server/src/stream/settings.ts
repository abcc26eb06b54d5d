// Settings of messaging, from the environment. The six of the event stream keep the promise they were introduced with: a number that cannot
// be read means the default. Nothing is swallowed, though: every value that is not taken as it stands becomes a warning.

export interface EventStreamSettings {
  readonly enabled: boolean;
  /** Events per read. */
  readonly batch: number;
  /** How long the tailer sleeps when nothing is new. */
  readonly pollMs: number;
  /** The very first start begins with the oldest event instead of now. */
  readonly backfill: boolean;
  /** Within this time JetStream drops a message that it has already. */
  readonly dedupMs: number;
  /** How long JetStream keeps a message. 0: for ever. */
  readonly retentionMs: number;
}

export interface NatsAddress {
  readonly servers: readonly string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

export type CommandTransport = 'http' | 'nats';

export interface MessagingSettings {
  /** Undefined: no messaging. */
  readonly nats: NatsAddress | undefined;
  readonly events: EventStreamSettings;
  readonly commands: CommandTransport;
  /** What was not taken as it stands, for the log. */
  readonly warnings: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

const MAX_BATCH = 10_000;
/** A century: far below what JetStream can count in nanoseconds. */
const MAX_SECONDS = 3_155_760_000;

export function messagingSettings(env: Env): MessagingSettings {
  const warnings: string[] = [];
  const url = text(env, 'NOETL_NATS_URL') ?? text(env, 'NATS_URL');
  const settings = {
    nats: url === undefined ? undefined : natsAddress(url),
    events: eventStreamSettings(env, (warning) => warnings.push(warning)),
    commands: commandTransport(env),
    warnings,
  };
  if (settings.nats === undefined) {
    if (settings.events.enabled)
      warnings.push('NOETL_EVENT_STREAM_ENABLED is on, but NOETL_NATS_URL is not set: no event leaves');
    if (settings.commands === 'nats') throw new Error('NOETL_COMMAND_TRANSPORT=nats: needs NOETL_NATS_URL');
  }
  return settings;
}

export function eventStreamSettings(env: Env, warn: (warning: string) => void): EventStreamSettings {
  const flag = (name: string) => ['true', '1', 'yes', 'on'].includes(env[name]?.trim().toLowerCase() ?? '');
  const number = (name: string, fallback: number, min: number, max: number) => {
    const given = env[name]?.trim();
    if (given === undefined) return fallback;
    if (!/^\+?\d+$/.test(given)) {
      warn(`${name}=${given} is not a whole number: ${fallback} is used`);
      return fallback;
    }
    const value = Math.min(max, Math.max(min, Number(given)));
    if (value !== Number(given)) warn(`${name}=${given} is outside ${min} to ${max}: ${value} is used`);
    return value;
  };
  const retention = number('NOETL_EVENT_STREAM_RETENTION_SECS', 86_400, 0, MAX_SECONDS);
  const dedup = number('NOETL_EVENT_STREAM_DEDUP_SECS', 120, 1, MAX_SECONDS);
  // JetStream refuses a stream that forgets messages sooner than it forgets their ids.
  const shorter = retention > 0 && dedup > retention;
  if (shorter) warn(`NOETL_EVENT_STREAM_DEDUP_SECS=${dedup} is longer than the retention: ${retention} is used`);
  return {
    enabled: flag('NOETL_EVENT_STREAM_ENABLED'),
    batch: number('NOETL_EVENT_STREAM_BATCH', 500, 1, MAX_BATCH),
    pollMs: number('NOETL_EVENT_STREAM_POLL_MS', 500, 1, 3_600_000),
    backfill: flag('NOETL_EVENT_STREAM_BACKFILL'),
    dedupMs: (shorter ? retention : dedup) * 1000,
    retentionMs: retention * 1000,
  };
}

function commandTransport(env: Env): CommandTransport {
  const given = text(env, 'NOETL_COMMAND_TRANSPORT')?.toLowerCase() ?? 'http';
  if (given === 'http' || given === 'nats') return given;
  throw new Error(`NOETL_COMMAND_TRANSPORT=${given}: must be http or nats`);
}

/** One address or several, separated by commas. Credentials in an address are taken out of it: addresses are logged. */
export function natsAddress(text: string): NatsAddress {
  const urls = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const full = part.includes('://') ? part : `nats://${part}`;
      // The address is not repeated: it may hold a password.
      if (!URL.canParse(full)) throw new Error('NOETL_NATS_URL: is not an address such as nats://host:4222');
      return new URL(full);
    });
  const credentials = urls.find((url) => url.username !== '');
  const user = decodeURIComponent(credentials?.username ?? '');
  const pass = decodeURIComponent(credentials?.password ?? '');
  return {
    servers: urls.map((url) => `${url.protocol}//${url.host}`),
    ...(user === '' ? {} : pass === '' ? { token: user } : { user, pass }),
  };
}

function text(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}
