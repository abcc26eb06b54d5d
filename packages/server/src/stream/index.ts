// What leaves over NATS: the log as the stream `noetl_events`, and notifications of commands as `noetl_commands`.
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Pools } from '../db/index.js';
import type { App } from '../http/index.js';
import { linkNats } from './connection.js';
import { createStreamMetrics } from './metrics.js';
import { type OutboxSource, startPublisher } from './publisher.js';
import { streamRoutes } from './routes.js';
import type { MessagingSettings } from './settings.js';
import { lagSeconds } from './status.js';
import { COMMAND_STREAM, eventStream } from './streams.js';
import { COMMAND_SUBJECTS } from './subject.js';
import { startTailer } from './tailer.js';

export { type MessagingSettings, messagingSettings } from './settings.js';
export { lagSeconds } from './status.js';

export interface Messaging {
  readonly nats: 'not_configured' | 'connected' | 'disconnected';
  /** Something was committed. */
  wake(): void;
  close(): Promise<void>;
}

export interface MessagingOptions {
  readonly settings: MessagingSettings;
  readonly pools: Pools;
  readonly app: App;
  readonly registry: Registry;
  /** Names this server among those that share the databases. */
  readonly holder: string;
  readonly log: Logger;
  readonly outbox: OutboxSource;
  /** The outbox also holds events. */
  readonly mirrorEvents: boolean;
  publicUrl(): string;
  /** Some server has announced a command. */
  announced(): void;
}

interface Part {
  wake?(): void;
  close(): Promise<void>;
}

export function startMessaging(options: MessagingOptions): Messaging {
  const { settings, pools, log, outbox, holder } = options;
  for (const warning of settings.warnings) log.warn(warning);
  if (settings.events.enabled && options.mirrorEvents) {
    log.warn('NOETL_EVENT_STREAM_ENABLED and NOETL_EVENT_MIRROR_ENABLED are both on: every event leaves twice');
  }
  const shards = new Map(pools.shards.map((shard) => [shard.name, shard]));
  const metrics = createStreamMetrics(options.registry, [...shards.keys()], async (name) => {
    const shard = shards.get(name);
    return shard === undefined || !settings.events.enabled ? 0 : lagSeconds(shard);
  });
  const link = settings.nats === undefined ? undefined : linkNats(settings.nats, log);
  streamRoutes(options.app, { pools, link, settings });
  const parts: Part[] = [];
  if (link !== undefined && settings.events.enabled) {
    const { publicUrl } = options;
    for (const shard of pools.shards) {
      parts.push(startTailer({ shard, link, holder, settings: settings.events, metrics, log, publicUrl }));
    }
  }
  if (link !== undefined && settings.commands === 'nats') {
    link.onSession(({ connection }) => {
      // Only a wake-up, for workers that wait here; what is missed is found by the next look into the table.
      connection.subscribe(COMMAND_SUBJECTS[1], { callback: () => options.announced() });
    });
  }
  const carried = [
    ...(settings.commands === 'nats' ? [COMMAND_STREAM] : []),
    ...(options.mirrorEvents ? [eventStream(settings.events)] : []),
  ];
  if (link !== undefined && carried.length > 0) {
    parts.push(startPublisher({ outbox, link, owner: holder, streams: carried, metrics, log }));
  }
  return {
    get nats() {
      if (link === undefined) return 'not_configured';
      return link.session === undefined ? 'disconnected' : 'connected';
    },
    wake() {
      for (const part of parts) part.wake?.();
    },
    async close() {
      await Promise.all(parts.map((part) => part.close()));
      await link?.close();
    },
  };
}
