// `noetl admin shards`: what every shard holds, and what waits there. A shard that does not answer is shown, and is exit code 1.
import type { ShardView } from '@noetl/client';
import { type ConnectionOptions, connect } from '../connection.js';
import { EXIT, type ExitCode } from '../errors.js';
import { printJson } from '../print-json.js';
import { type Palette, paletteFor, sanitise, table } from '../terminal.js';

export interface ShardsOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export async function shards(options: ShardsOptions): Promise<ExitCode> {
  const answer = await connect(options).shards();
  if (options.json === true) printJson(answer);
  else process.stdout.write(shardTable(answer.shards, paletteFor(process.stdout)));
  return answer.shards.every((shard) => shard.reachable) ? EXIT.ok : EXIT.error;
}

const HEAD = ['SHARD', 'SIZE', 'EVENTS', 'COMMANDS', 'READY', 'OUTBOX', 'MESSAGES', 'LAG', 'EXECUTIONS'];

export function shardTable(views: readonly ShardView[], paint: Palette): string {
  const rows = views.map((view) => {
    if (!view.reachable) return [view.shard, paint.red('away'), '', '', '', '', '', '', sanitise(view.error ?? '')];
    const lag = view.stream_lag_seconds ?? null;
    return [
      view.shard,
      formatBytes(view.database_bytes ?? 0),
      `~${view.events_estimate ?? 0}`,
      String(view.commands_open ?? 0),
      String(view.commands_ready ?? 0),
      String(view.outbox_backlog ?? 0),
      String(view.messages_waiting ?? 0),
      lag === null ? '-' : `${Math.round(lag)}s`,
      executionCounts(view.executions ?? {}),
    ];
  });
  return table(HEAD, rows, paint);
}

function executionCounts(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, count]) => `${count} ${sanitise(status)}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
