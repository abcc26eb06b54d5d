// What an operator wants to know about the streams, asked from NATS and the databases when somebody asks us.
import { jetstreamManager } from '@nats-io/jetstream';
import type { JsonObject } from '@noetl/core';
import { leaderOf, type Pools, type Shard } from '../db/index.js';
import type { NatsLink } from './connection.js';
import { type CursorStatus, cursorStatus, TAILER } from './cursor.js';
import { lagBehind, type Position } from './outgoing.js';
import type { MessagingSettings } from './settings.js';
import { COMMAND_STREAM, eventStream, findStream, type WantedStream } from './streams.js';

const ASK_MS = 2_000;
const COUNT_LIMIT = 100_000;

export async function streamsStatus(
  pools: Pools,
  link: NatsLink | undefined,
  settings: MessagingSettings,
): Promise<JsonObject> {
  const wanted = [
    ...(settings.events.enabled ? [eventStream(settings.events)] : []),
    ...(settings.commands === 'nats' ? [COMMAND_STREAM] : []),
  ];
  return {
    enabled: settings.events.enabled,
    command_transport: settings.commands,
    nats: {
      configured: link !== undefined,
      connected: link?.session !== undefined,
      server: link?.session?.connection.getServer() ?? null,
      last_error: link?.lastError?.message ?? null,
      last_error_at: link?.lastError?.at ?? null,
    },
    streams: await Promise.all(wanted.map((stream) => streamStatus(link, stream))),
    shards: await Promise.all(pools.shards.map(shardStatus)),
  };
}

async function streamStatus(link: NatsLink | undefined, wanted: WantedStream): Promise<JsonObject> {
  const unknown = { name: wanted.name, exists: null, messages: null, bytes: null, created: null, differences: [] };
  const connection = link?.session?.connection;
  if (connection === undefined) return { ...unknown, error: 'NATS is not connected' };
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS });
    const found = await findStream(manager, wanted);
    if (found === undefined) return { ...unknown, exists: false, error: null };
    const { messages, bytes, created } = found;
    const differences = found.differences.map((difference) => ({ ...difference }));
    return { name: wanted.name, exists: true, messages, bytes, created, differences, error: null };
  } catch (error) {
    return { ...unknown, error: error instanceof Error ? error.message : String(error) };
  }
}

/** Age of the oldest event that has not left; 0 when the stream has not begun. */
export async function lagSeconds({ pool }: Shard): Promise<number> {
  const cursor = await cursorStatus(pool);
  return cursor === undefined ? 0 : (await lagBehind(pool, cursor.position as Position, 1)).seconds;
}

async function shardStatus({ name, pool }: Shard): Promise<JsonObject> {
  const [cursor, leader] = await Promise.all([cursorStatus(pool), leaderOf(pool, TAILER)]);
  // A cursor that is spoiled (cursor.ts) has no place to count from.
  const counts = cursor !== undefined && /^\d/.test(cursor.position);
  const lag = counts ? await lagBehind(pool, cursor.position as Position, COUNT_LIMIT) : undefined;
  return {
    shard: name,
    leader: leader === undefined ? null : { ...leader },
    cursor: cursor === undefined ? null : cursorView(cursor),
    lag_events: lag?.events ?? null,
    lag_events_at_least: lag?.more ?? false,
    lag_seconds: lag?.seconds ?? null,
    last_error: cursor?.last_error ?? null,
    last_error_at: cursor?.last_error_at ?? null,
  };
}

function cursorView({ position, event_id, updated_at }: CursorStatus): JsonObject {
  return { position, event_id, updated_at };
}
