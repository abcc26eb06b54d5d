// The JetStream streams of the product. A missing one is created; one that is there is never rebuilt: where it differs from the settings,
// the difference is reported and an operator decides. Only a missing subject is added, which takes nothing from anybody.
import {
  AckPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import type { EventStreamSettings } from './settings.js';
import { COMMAND_SUBJECTS, EVENT_SUBJECTS } from './subject.js';

export interface WantedStream {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly maxAgeMs: number;
  readonly dedupMs: number;
  /** Durable pull consumers that are always there. */
  readonly consumers: readonly string[];
}

export interface Difference {
  readonly setting: string;
  readonly wanted: string;
  readonly actual: string;
}

export interface FoundStream {
  /** Tells one stream from another of the same name. */
  readonly created: string;
  readonly differences: readonly Difference[];
  readonly messages: number;
  /** Number of its newest message. */
  readonly lastSequence: number;
  readonly bytes: number;
  /** The largest message it takes; undefined: as large as NATS does. */
  readonly maxMessageBytes: number | undefined;
}

export const EVENT_STREAM = 'noetl_events';

export function eventStream(settings: EventStreamSettings): WantedStream {
  return {
    name: EVENT_STREAM,
    subjects: [EVENT_SUBJECTS],
    maxAgeMs: settings.retentionMs,
    dedupMs: settings.dedupMs,
    consumers: ['noetl_projector', 'noetl_materializer'],
  };
}

/** Notifications are wake-ups: an hour is longer than any of them is worth. */
export const COMMAND_STREAM: WantedStream = {
  name: 'noetl_commands',
  subjects: COMMAND_SUBJECTS,
  maxAgeMs: 3_600_000,
  dedupMs: 120_000,
  consumers: [],
};

/** Finds the stream or creates it, and makes sure of its consumers. */
export async function ensureStream(manager: JetStreamManager, wanted: WantedStream): Promise<FoundStream> {
  const info = (await findInfo(manager, wanted)) ?? (await create(manager, wanted));
  const missing = wanted.subjects.filter((subject) => !info.config.subjects.includes(subject));
  if (missing.length > 0) {
    await manager.streams.update(wanted.name, { subjects: [...info.config.subjects, ...missing] });
  }
  for (const consumer of wanted.consumers) await ensureConsumer(manager, wanted, consumer);
  return found(info, wanted);
}

/** Undefined when it does not exist. Changes nothing. */
export async function findStream(manager: JetStreamManager, wanted: WantedStream): Promise<FoundStream | undefined> {
  const info = await findInfo(manager, wanted);
  return info === undefined ? undefined : found(info, wanted);
}

async function findInfo(manager: JetStreamManager, { name }: WantedStream): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (isApiError(error, JetStreamApiCodes.StreamNotFound)) return undefined;
    throw error;
  }
}

async function create(manager: JetStreamManager, wanted: WantedStream): Promise<StreamInfo> {
  try {
    return await manager.streams.add({
      name: wanted.name,
      subjects: [...wanted.subjects],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      max_age: nanos(wanted.maxAgeMs),
      duplicate_window: nanos(wanted.dedupMs),
    });
  } catch (error) {
    // Another server with other settings may have been faster; then what it made is what there is.
    const other = await findInfo(manager, wanted);
    if (other === undefined) throw error;
    return other;
  }
}

async function ensureConsumer(
  manager: JetStreamManager,
  { name, subjects }: WantedStream,
  consumer: string,
): Promise<void> {
  try {
    await manager.consumers.info(name, consumer);
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.ConsumerNotFound)) throw error;
    const [filter = '>'] = subjects;
    await manager.consumers.add(name, {
      durable_name: consumer,
      ack_policy: AckPolicy.Explicit,
      filter_subject: filter,
    });
  }
}

function found(info: StreamInfo, wanted: WantedStream): FoundStream {
  const { config, state, created } = info;
  const differences: Difference[] = [];
  const compare = (setting: string, want: string | number, actual: string | number) => {
    if (want !== actual) differences.push({ setting, wanted: String(want), actual: String(actual) });
  };
  compare('retention', RetentionPolicy.Limits, config.retention);
  compare('storage', StorageType.File, config.storage);
  compare('max_age_seconds', wanted.maxAgeMs / 1000, config.max_age / 1e9);
  compare('no_ack', 'false', String(config.no_ack ?? false));
  compare('duplicate_window_seconds', wanted.dedupMs / 1000, config.duplicate_window / 1e9);
  return {
    created: String(created),
    differences,
    messages: state.messages,
    lastSequence: state.last_seq,
    bytes: state.bytes,
    maxMessageBytes: config.max_msg_size > 0 ? config.max_msg_size : undefined,
  };
}

export function isApiError(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}

function nanos(ms: number): number {
  return ms * 1_000_000;
}
