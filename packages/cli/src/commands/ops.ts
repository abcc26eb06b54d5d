// `noetl ops`: one screen that says how the installation is. Parts that a server cannot tell (a shard is away, an older version) are shown
// as such, and the others with them.
import { setTimeout as delay } from 'node:timers/promises';
import type {
  HealthResponse,
  NoetlClient,
  OutboxStatusResponse,
  ShardsResponse,
  StreamsResponse,
  WorkerView,
} from '@noetl/client';
import { type ConnectionOptions, connect } from '../connection.js';
import { formatDuration } from '../duration.js';
import { EXIT, type ExitCode, messageOf } from '../errors.js';
import { printJson } from '../print-json.js';
import { catchInterrupt } from '../signals.js';
import { type Palette, paletteFor, sanitise } from '../terminal.js';
import { shardTable } from './shards.js';

export interface OpsOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
  /** Seconds between two looks of `--watch`. */
  readonly interval: number;
}

/** A part of the screen, or why it could not be had. */
type Part<T> = T | { readonly error: string };

export interface Overview {
  readonly health: HealthResponse;
  readonly workers: Part<readonly WorkerView[]>;
  readonly shards: Part<ShardsResponse>;
  readonly outbox: Part<OutboxStatusResponse>;
  readonly streams: Part<StreamsResponse>;
}

export async function ops(options: OpsOptions): Promise<ExitCode> {
  const client = connect(options);
  if (options.watch !== true) {
    const overview = await look(client);
    print(overview, options);
    return overview.health.status === 'ok' ? EXIT.ok : EXIT.error;
  }
  const interrupt = catchInterrupt(() => {});
  try {
    while (!interrupt.signal.aborted) {
      const overview = await look(client, interrupt.signal);
      if (process.stdout.isTTY && options.json !== true) process.stdout.write(CLEAR_SCREEN);
      print(overview, options);
      await delay(options.interval * 1000, undefined, { signal: interrupt.signal });
    }
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  } finally {
    interrupt.dispose();
  }
  return EXIT.ok;
}

const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** A server that does not answer at all is an error; one that cannot answer everything is worth looking at. */
async function look(client: NoetlClient, signal?: AbortSignal): Promise<Overview> {
  const health = await client.health({ signal });
  const part = <T>(answer: Promise<T>): Promise<Part<T>> =>
    answer.catch((error: unknown) => ({ error: messageOf(error) }));
  const [workers, shards, outbox, streams] = await Promise.all([
    part(client.workers({ signal })),
    part(client.shards({ signal })),
    part(client.outboxStatus({ signal })),
    part(client.streamsStatus({ signal })),
  ]);
  return { health, workers, shards, outbox, streams };
}

function print(overview: Overview, options: OpsOptions): void {
  if (options.json === true) printJson(overview);
  else process.stdout.write(screen(overview, paletteFor(process.stdout)));
}

export function screen({ health, workers, shards, outbox, streams }: Overview, paint: Palette): string {
  const lines: [string, string][] = [
    ['Server', serverLine(health, paint)],
    ['Workers', 'error' in workers ? away(workers, paint) : workersLine(workers, paint)],
    ['Queue', 'error' in shards ? away(shards, paint) : queueLine(shards)],
    ['Outbox', 'error' in outbox ? away(outbox, paint) : outboxLine(outbox, paint)],
    ['Streams', 'error' in streams ? away(streams, paint) : streamsLine(streams, paint)],
  ];
  const text = lines.map(([name, line]) => `${paint.dim(name.padEnd(9))}  ${line}\n`).join('');
  return 'error' in shards ? text : `${text}\n${shardTable(shards.shards, paint)}`;
}

const away = ({ error }: { readonly error: string }, paint: Palette) => paint.red(sanitise(error));

function serverLine({ status, version, database, nats, uptime_seconds }: HealthResponse, paint: Palette): string {
  const colour = status === 'ok' ? paint.green : paint.red;
  const up = formatDuration(uptime_seconds * 1000);
  return `${colour(status)}  version ${sanitise(version)}, up ${up}, database ${database}, NATS ${nats.replace('_', ' ')}`;
}

function workersLine(workers: readonly WorkerView[], paint: Palette): string {
  const alive = workers.filter((worker) => worker.status !== 'offline');
  if (alive.length === 0) return paint.yellow('none: nobody runs what is in the queue');
  const sum = (read: (worker: WorkerView) => number | null) =>
    alive.reduce((total, worker) => total + (read(worker) ?? 0), 0);
  const offline = workers.length - alive.length;
  const busy = `${sum((worker) => worker.in_flight)} of ${sum((worker) => worker.capacity)} slots busy`;
  return `${alive.length} alive, ${busy}${offline > 0 ? `, ${offline} offline` : ''}`;
}

function queueLine({ shards }: ShardsResponse): string {
  const sum = (read: 'commands_ready' | 'commands_open') =>
    shards.reduce((total, shard) => total + (shard[read] ?? 0), 0);
  return `${sum('commands_ready')} ready, ${sum('commands_open')} open`;
}

function outboxLine(
  { pending, failed, in_flight, dead, oldest_seconds }: OutboxStatusResponse,
  paint: Palette,
): string {
  const waiting = `${pending} pending, ${in_flight} in flight, ${failed} to be tried again`;
  const oldest = pending + failed > 0 ? `, the oldest for ${formatDuration(oldest_seconds * 1000)}` : '';
  return `${waiting}${oldest}${dead > 0 ? `, ${paint.red(`${dead} dead`)}` : ''}`;
}

function streamsLine({ enabled, nats, streams, shards }: StreamsResponse, paint: Palette): string {
  if (!nats.configured) return 'NATS is not configured';
  if (!nats.connected) return paint.red(`NATS is not connected: ${sanitise(nats.last_error ?? 'no answer')}`);
  const names = streams.map(({ name, messages }) => `${sanitise(name)} ${messages ?? '?'} messages`);
  const lag = Math.max(0, ...shards.map((shard) => shard.lag_seconds ?? 0));
  return [...names, ...(enabled ? [`lag ${formatDuration(lag * 1000)}`] : [])].join(', ') || 'none';
}
